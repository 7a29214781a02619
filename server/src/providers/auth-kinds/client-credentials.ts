/**
 * `client_credentials`: the id and secret of a client, for which the provider's token endpoint issues access tokens
 * (RFC 6749 §4.4). Calls carry the token, never the secret.
 */
import type { AuthKind } from './auth-kind.ts'

export const clientCredentials: AuthKind = {
  defaultMembers: [
    { name: 'client_id', label: null, secret: false, pattern: null, host: null },
    { name: 'client_secret', label: null, secret: true, pattern: null, host: null },
  ],
  inject: [],
  isMinted: true,
  // RFC 6749 appendix A.1 and A.2.
  assertMember: (_name, value) => (/^[\x20-\x7e]*$/.test(value) ? undefined : 'contains a character that is not ASCII'),
  mayBeEmpty: false,
}
