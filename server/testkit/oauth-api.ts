/** A small API beside the authorization server that accepts its access tokens. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type Provider from 'oidc-provider'
import type { AccessToken, ClientCredentials } from 'oidc-provider'

/** `/api/whoami` returns the account of the token; `/api/echo` returns the call with its headers. */
export async function serveApi(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = (status: number, body: object, headers: Record<string, string> = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
  const path = request.url?.split('?')[0]
  const [, value = ''] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? []
  const token = await validToken(provider, value)
  if (!token) {
    answer(401, { error: 'invalid_token' }, { 'www-authenticate': 'Bearer error="invalid_token"' })
  } else if (path === '/api/whoami' && request.method === 'GET') {
    answer(200, { sub: accountOf(token), client_id: token.clientId, scope: token.scope ?? '' })
  } else if (path === '/api/echo' && request.method === 'POST') {
    // Added by the TLS front of the server.
    const headers = { ...request.headers, 'x-forwarded-proto': undefined }
    answer(200, { sub: accountOf(token), url: request.url, headers, body: await text(request) })
  } else {
    answer(404, { error: 'not_found' })
  }
}

/** A client that acts for itself has none. */
export function accountOf(token: AccessToken | ClientCredentials): string | undefined {
  return 'accountId' in token ? token.accountId : undefined
}

export async function validToken(
  provider: Provider,
  value: string,
): Promise<(AccessToken | ClientCredentials) | undefined> {
  if (value === '') return undefined
  return (await provider.AccessToken.find(value)) ?? provider.ClientCredentials.find(value)
}
