/**
 * Where a server speaks OAuth with an accent. Its answers are put into RFC 6749's words before openid-client reads
 * them, and our token requests into its own.
 */
import { scopePattern } from '@sallyport/protocol/providers'
import type { CustomFetch } from 'openid-client'
import { parseJson } from '../json.ts'

export interface Dialect {
  /** Between scopes; a blank unless said otherwise. */
  scopeSeparator?: ','
  /** The parameter of the authorization request that carries them; `scope` unless said otherwise. */
  scopeParameter?: string
  /** How the token endpoint wants to be asked; as a form unless said otherwise. */
  tokenRequest?: 'json'
  /** Errors come with status 200. */
  errorsWithStatus200?: boolean
  /** The tokens can stand in this member of the answer, as Slack's do for a user. */
  tokensIn?: string
  /** It does not say what kind its tokens are, or in words of its own; they are sent like any other bearer token. */
  isAlwaysBearer?: boolean
  /** Scopes can come as a list, as `scope` or `scopes`. */
  scopeArray?: boolean
  /** A request that carries a code challenge may be refused: the state alone binds the answer to the person. */
  omitsPkce?: boolean
  /** The Basic header holds id and secret as they are, without the encoding of RFC 6749 §2.3.1. */
  isBasicUnencoded?: boolean
  /** Where a refresh token is spent, if not at the token endpoint. */
  refreshEndpoint?: string
}

export const plainDialect: Dialect = {}

export function joinScopes({ scopeSeparator }: Dialect, scopes: readonly string[]): string {
  return scopes.join(scopeSeparator ?? ' ')
}

const mostScopes = 100

/**
 * Servers differ in what they put between scopes, also against their own documentation. What is no scope (RFC 6749
 * §3.3) is left out: it would be shown to people and put on record.
 */
export function splitScopes(scope: string | undefined): string[] | undefined {
  if (scope === undefined) return undefined
  const scopes = scope.split(/[\s,]+/).filter((one) => scopePattern.test(one))
  return [...new Set(scopes)].slice(0, mostScopes)
}

/** A fetch that speaks the dialect at the token endpoint; other endpoints are left alone. */
export function translating(fetch: CustomFetch, dialect: Dialect, tokenEndpoint: string | undefined): CustomFetch {
  return async (url, options) => {
    if (url !== tokenEndpoint) return fetch(url, options)
    return translateAnswer(await fetch(url, dialect.tokenRequest === 'json' ? asJson(options) : options), dialect)
  }
}

type Options = Parameters<CustomFetch>[1]

function asJson(options: Options): Options {
  if (!(options.body instanceof URLSearchParams)) return options
  const headers = { ...options.headers, 'content-type': 'application/json' }
  return { ...options, headers, body: JSON.stringify(Object.fromEntries(options.body)) }
}

async function translateAnswer(response: Response, dialect: Dialect): Promise<Response> {
  const { errorsWithStatus200, tokensIn, scopeArray, isAlwaysBearer } = dialect
  if (!errorsWithStatus200 && tokensIn === undefined && !scopeArray && !isAlwaysBearer) return response
  const text = await response.text()
  // Some statuses take no body, not even an empty one.
  const asItCame = () => new Response(text === '' ? null : text, { status: response.status, headers: response.headers })
  const body = parseObject(text)
  if (!body) return asItCame()
  const tokens = tokensIn === undefined ? body : (objectIn(body, tokensIn) ?? body)
  if (errorsWithStatus200 && response.ok && typeof body['error'] === 'string') {
    return Response.json({ error: body['error'] }, { status: 400 })
  }
  if (typeof tokens['access_token'] !== 'string') return asItCame()
  const scopes = [tokens['scope'], tokens['scopes']].find((one) => Array.isArray(one))
  const spelt = {
    ...(scopeArray && scopes && { scope: scopes.join(' ') }),
    ...(isAlwaysBearer && { token_type: 'bearer' }),
  }
  return Response.json({ ...body, ...tokens, ...spelt }, { status: response.status })
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function objectIn(body: Record<string, unknown>, name: string): Record<string, unknown> | undefined {
  const value = body[name]
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}
