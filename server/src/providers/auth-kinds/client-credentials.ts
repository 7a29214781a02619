/**
 * `client_credentials`: the id and secret of a client, for which the provider's token endpoint issues access tokens
 * (RFC 6749 §4.4). Calls carry the token, never the secret.
 */
import { toDisplayName } from '@sallyport/protocol/schema'
import { ServiceError } from '../../platform/errors.ts'
import { plainDialect } from '../../platform/oauth/dialect.ts'
import { memberNamed } from '../auth-method.ts'
import { textOfMember } from '../injector.ts'
import type { AuthKind } from './auth-kind.ts'
import { whoSuppliedTokenUrl } from './minting.ts'
import type { Minting } from './minting.ts'

const mint: Minting['mint'] = ({ oauth }, { provider, values }) => {
  const { metadata, authMethod, scopes } = provider
  const { token_endpoint } = metadata
  if (token_endpoint === undefined) throw new ServiceError('conflict', { message: 'This provider has no token_url.' })
  const client = {
    metadata: { issuer: metadata.issuer ?? new URL(token_endpoint).origin, token_endpoint },
    clientId: textOfMember(values, 'client_id'),
    clientSecret: values['client_secret'],
    authMethod: authMethod === 'none' ? ('client_secret_basic' as const) : authMethod,
    dialect: plainDialect,
    suppliedBy: whoSuppliedTokenUrl(provider),
  }
  return oauth.clientCredentials(client, scopes)
}

export const clientCredentials: AuthKind = {
  defaultMembers: [memberNamed('client_id', { secret: false }), memberNamed('client_secret')],
  inject: [],
  tokenUrl: 'required',
  // RFC 6749 appendix A.1 and A.2.
  assertMember: (_name, value) => (/^[\x20-\x7e]*$/.test(value) ? undefined : 'contains a character that is not ASCII'),
  mayBeEmpty: false,
  minting: {
    mint,
    /** A client is an account of its own. */
    account: (_needs, { values }) => {
      const id = textOfMember(values, 'client_id')
      return { id, label: toDisplayName(id, 200) ?? null }
    },
  },
}
