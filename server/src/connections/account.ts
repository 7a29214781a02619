/** Whose account the tokens reach, as far as the provider says. It labels a connection, and tells two of them apart. */
import { toDisplayName } from '@sallyport/protocol/schema'
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
  const nameAt = (path: string) => toDisplayName(textAt(answer, path) ?? '', 200)
  const label = source.labels.map(nameAt).find((name) => name !== undefined)
  const place = source.within === undefined ? undefined : nameAt(source.within)
  const isSaid = label === undefined || place === undefined || place === label
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

function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu, '').trim()
}
