/** Gets an access token for an entered credential from the provider's token endpoint. */
import { ServiceError } from '../platform/errors.ts'
import { plainDialect } from '../platform/oauth/dialect.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import type { Tokens } from '../platform/oauth/oauth-client.ts'
import type { CredentialValues } from '../providers/injector.ts'
import type { Provider } from '../providers/provider.ts'
import { textOfMember } from './credential.ts'

export function mintToken(
  { oauth }: { oauth: OAuth },
  { metadata, authMethod, scopes, source }: Provider,
  values: CredentialValues,
): Promise<Tokens> {
  const { token_endpoint } = metadata
  if (token_endpoint === undefined) throw new ServiceError('conflict', { message: 'This provider has no token_url.' })
  const client = {
    metadata: { issuer: metadata.issuer ?? new URL(token_endpoint).origin, token_endpoint },
    clientId: textOfMember(values, 'client_id'),
    clientSecret: values['client_secret'],
    authMethod: authMethod === 'none' ? ('client_secret_basic' as const) : authMethod,
    dialect: plainDialect,
    suppliedBy: source === 'proposal' ? ('stranger' as const) : ('operator' as const),
  }
  return oauth.clientCredentials(client, scopes)
}

/** Errors after which the credential has to be replaced. */
export const deadCredential: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_grant',
  'invalid_scope',
  'access_denied',
  'unauthorized',
])
