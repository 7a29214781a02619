/** Whose account the tokens reach, as far as the provider says. It labels a connection, and tells two of them apart. */
import type { Tokens } from '../platform/oauth/oauth-client.ts'
import type { AccountSource } from '../providers/presets/preset.ts'

export interface Account {
  id: string
  label: string | null
}

const plainLabels = ['email', 'preferred_username', 'name']

/** How a provider without a preset says it: in its id token, if it gives one. */
export const plainAccount: AccountSource = { from: 'id_token', id: 'sub', labels: plainLabels }

/** The account in a JSON answer; of several labels the first that is there counts. */
export function accountIn(answer: Record<string, unknown>, source: AccountSource): Account | undefined {
  const id = textAt(answer, source.id)
  // One that can not be written down as it is would be taken for another's.
  if (id === undefined || id.length > 255 || id !== onOneLine(id)) return undefined
  const textOf = (path: string) => readable(textAt(answer, path) ?? '')
  const label = source.labels.map(textOf).find((text) => text !== '')
  const place = source.within === undefined ? '' : textOf(source.within)
  const isSaid = label === undefined || place === '' || place === label
  return { id, label: isSaid ? (label ?? null) : `${label} (${place})` }
}

/** Where it stands in what we hold already; undefined where the provider has to be asked. */
export function accountInTokens(tokens: Tokens, source: AccountSource): Account | undefined {
  if (source.from === 'token_answer') return accountIn(tokens.extra, source)
  return source.from === 'id_token' && tokens.claims ? accountIn(tokens.claims, source) : undefined
}

function textAt(value: Record<string, unknown>, path: string): string | undefined {
  const found = path
    .split('.')
    .reduce<unknown>(
      (inner, name) =>
        typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
          ? (inner as Record<string, unknown>)[name]
          : undefined,
      value,
    )
  if (typeof found === 'number' && Number.isSafeInteger(found)) return String(found)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Another site's text, shown to people: on one line, in its own order, not endless. */
function readable(text: string): string {
  return Array.from(onOneLine(text)).slice(0, 200).join('')
}

function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu, '').trim()
}
