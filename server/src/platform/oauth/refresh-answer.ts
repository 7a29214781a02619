/**
 * When a server answers a refresh, the old token is often invalid already: so the new one must not be lost because another
 * member of the response is empty, malformed or not needed.
 */
import type { CustomFetch } from 'openid-client'
import { parseObject } from './dialect.ts'

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
