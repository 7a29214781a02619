/** Whose account the tokens belong to, if the provider says so. It labels connections and distinguishes them. */
import { toDisplayName } from '@sallyport/protocol/schema'
import type { Tokens } from '../platform/oauth/oauth-client.ts'
import type { Account } from '../providers/auth-kinds/minting.ts'
import type { AccountSource } from '../providers/presets/preset.ts'

export type { Account }

const plainLabels = ['email', 'preferred_username', 'name']

/** For a provider without a preset: the ID token, if there is one. */
export const plainAccount: AccountSource = { from: 'id_token', id: 'sub', labels: plainLabels }

/** The account in a JSON response. The first label that is present is used. */
export function accountIn(
  answer: Record<string, unknown>,
  source: { id: string; labels: readonly string[]; within?: string },
): Account | undefined {
  const id = textAt(answer, source.id)
  // An id that can't be stored unchanged could be mistaken for another account's.
  if (id === undefined || id.length > 255 || id !== onOneLine(id)) return undefined
  const nameAt = (path: string) => toDisplayName(textAt(answer, path) ?? '', 200)
  const label = source.labels.map(nameAt).find((name) => name !== undefined)
  const place = source.within === undefined ? undefined : nameAt(source.within)
  const isSaid = label === undefined || place === undefined || place === label
  return { id, label: isSaid ? (label ?? null) : `${label} (${place})` }
}

/** The account in the token response or ID token. Undefined if the provider has to be asked. */
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
