/**
 * Deviations of authorization servers from RFC 6749. Their responses are translated to the standard before openid-client
 * reads them, and our token requests to their form.
 */
import { scopePattern } from '@sallyport/protocol/providers'
import type { CustomFetch } from 'openid-client'
import { parseJson } from '../json.ts'

export interface Dialect {
  /** Between scopes; by default a space. */
  scopeSeparator?: ','
  /** The authorization request's parameter for scopes; by default `scope`. */
  scopeParameter?: string
  /** The format of token requests; by default a form. */
  tokenRequest?: 'json'
  /** Errors come with status 200. */
  errorsWithStatus200?: boolean
  /** The tokens may be in this member of the response, as Slack's user tokens are. */
  tokensIn?: string
  /** `token_type` is missing or non-standard; the tokens are bearer tokens. */
  isAlwaysBearer?: boolean
  /** Scopes may come as an array, in `scope` or `scopes`. */
  scopeArray?: boolean
  /** Requests with a code challenge may be refused, so only `state` binds the response to the person. */
  omitsPkce?: boolean
  /** The Basic header has id and secret without the encoding of RFC 6749 §2.3.1. */
  isBasicUnencoded?: boolean
  /** Where tokens are refreshed, if not at the token endpoint. */
  refreshEndpoint?: string
}

export const plainDialect: Dialect = {}

export function joinScopes({ scopeSeparator }: Dialect, scopes: readonly string[]): string {
  return scopes.join(scopeSeparator ?? ' ')
}

const mostScopes = 100

/**
 * Servers separate scopes differently, even against their own documentation. Text that is not a valid scope (RFC 6749 §3.3)
 * is dropped, because scopes are shown to people and recorded.
 */
export function splitScopes(scope: string | undefined): string[] | undefined {
  if (scope === undefined) return undefined
  const scopes = scope.split(/[\s,]+/).filter((one) => scopePattern.test(one))
  return [...new Set(scopes)].slice(0, mostScopes)
}

/** A fetch that translates at the token endpoint only. */
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
  // Some statuses allow no body, not even an empty one.
  const asItCame = () => new Response(text === '' ? null : text, { status: response.status, headers: response.headers })
  const body = parseObject(text)
  if (!body) return asItCame()
  const tokens = tokensIn === undefined ? body : (asObject(body[tokensIn]) ?? body)
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

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return asObject(parseJson(text))
  } catch {
    return undefined
  }
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}

/**
 * When a server answers a refresh, the old token is often invalid already: so the new one must not be lost because another
 * member of the response is empty, malformed or not needed.
 */
export function keepingTokens(fetch: CustomFetch): CustomFetch {
  return async (url, options) => {
    const response = await fetch(url, options)
    if (response.status !== 200) return response
    const text = await response.text()
    const answer = parseObject(text)
    if (typeof answer?.['access_token'] !== 'string') {
      return new Response(text, { status: response.status, headers: response.headers })
    }
    return Response.json(tamed(answer))
  }
}

/** Drops the ID token: who the person is was established at consent. */
function tamed(answer: Record<string, unknown>): Record<string, unknown> {
  const { refresh_token, scope, expires_in, token_type } = answer
  const seconds = Number(expires_in === null || expires_in === '' ? undefined : expires_in)
  return {
    ...answer,
    id_token: undefined,
    token_type: token_type ?? 'bearer',
    refresh_token: typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : undefined,
    scope: typeof scope === 'string' ? scope : undefined,
    expires_in: Number.isFinite(seconds) ? Math.max(seconds, 0) : undefined,
  }
}
