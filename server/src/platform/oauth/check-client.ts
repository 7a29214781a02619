/**
 * Whether an authorization server knows a client: it is sent a code that it never issued, with the client's credentials.
 * A server that looks at the client first answers a wrong one with `invalid_client` and a right one with something else.
 * One that looks at the code first answers both alike, so a client that can't exist is tried for comparison.
 */
import { randomBytes } from 'node:crypto'
import { Secret } from '../secret.ts'
import type { OAuthClient } from './oauth-client.ts'

export type ClientCheck = { result: 'accepted' | 'refused' | 'unknown'; error: string | null }

/** As RFC 6749 §5.2 has it, and as GitHub and Slack do. `unauthorized` is a 401 without an OAuth error. */
const ofWrongClients = new Set([
  'invalid_client',
  'unauthorized_client',
  'incorrect_client_credentials',
  'invalid_client_id',
  'bad_client_secret',
  'unauthorized',
])

/** `refusalOf`: the server's error for a code that it never issued. */
export async function checkClient(
  client: OAuthClient,
  refusalOf: (client: OAuthClient) => Promise<string>,
): Promise<ClientCheck> {
  const error = await refusalOf(client)
  if (ofWrongClients.has(error)) return { result: 'refused', error }
  const nobody = {
    ...client,
    clientId: `sallyport-check-${randomBytes(8).toString('hex')}`,
    clientSecret: client.clientSecret && new Secret(randomBytes(24).toString('base64url')),
  }
  const comparison = await refusalOf(nobody)
  return { result: ofWrongClients.has(comparison) ? 'accepted' : 'unknown', error }
}
