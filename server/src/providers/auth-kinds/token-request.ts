/** Requests with an assertion, and what their answers mean. Errors contain nothing that was sent or received. */
import { ServiceError } from '../../platform/errors.ts'
import type { Tokens } from '../../platform/oauth/oauth-client.ts'
import { Secret } from '../../platform/secret.ts'
import { whoSuppliedTokenUrl } from './minting.ts'
import type { Minted, MintNeeds, MintSource } from './minting.ts'
import type { Assertion } from './private-key.ts'

export interface JsonAnswer {
  status: number
  headers: Headers
  body: Readonly<Record<string, unknown>>
}

/** Throws `provider_unavailable` unless the server has decided. */
export async function askForJson(
  { egress }: Pick<MintNeeds, 'egress'>,
  { provider }: Pick<MintSource, 'provider'>,
  url: string,
  request: { method: string; headers?: Record<string, string>; body?: string | URLSearchParams },
): Promise<JsonAnswer> {
  const response = await egress.fetch(whoSuppliedTokenUrl(provider))(url, request)
  const { status, headers } = response
  const body = objectIn(await response.text())
  // Another server than the provider's, such as a proxy on the way, answers in other words.
  if (status >= 500 || status === 429 || !body) throw undecided(`status ${status}`)
  return { status, headers, body }
}

export function undecided(reason: string): ServiceError {
  return new ServiceError('provider_unavailable', { detail: `the token endpoint: ${reason}` })
}

/** The provider would refuse every assertion until the clock is right, so the credential is not to blame. */
export function wrongClock(): ServiceError {
  return undecided("it refuses the time of this machine's clock")
}

export function minted(
  token: unknown,
  { expiresInSeconds, scopes }: Pick<Tokens, 'expiresInSeconds' | 'scopes'>,
  assertion: Assertion,
): Minted {
  if (typeof token !== 'string' || token === '') throw undecided('no token')
  const accessToken = new Secret(token)
  return { accessToken, refreshToken: undefined, expiresInSeconds, scopes, claims: undefined, extra: {}, assertion }
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
