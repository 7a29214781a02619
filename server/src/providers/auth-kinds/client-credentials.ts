/**
 * `client_credentials`: the id and secret of a client, for which the provider's token endpoint issues access tokens
 * (RFC 6749 §4.4), or that of the tenant that the credential names. Calls carry the token, never the secret.
 */
import { toDisplayName } from '@sallyport/protocol/schema'
import { ServiceError } from '../../platform/errors.ts'
import { plainDialect } from '../../platform/oauth/dialect.ts'
import { assertListed } from '../api-hosts.ts'
import { memberNamed } from '../auth-method.ts'
import { textOfMember } from '../injector.ts'
import { parseTemplate, render } from '../template.ts'
import type { AuthKind } from './auth-kind.ts'
import { whoSuppliedTokenUrl } from './minting.ts'
import type { Minting, MintSource } from './minting.ts'

const mint: Minting['mint'] = ({ oauth }, source) => {
  const { provider, values } = source
  const { metadata, authMethod, scopes } = provider
  const tenant = tenantUrl(source)
  if (tenant) {
    assertListed(provider, tenant.host)
    const client = {
      metadata: { issuer: tenant.origin, token_endpoint: tenant.href },
      clientId: textOfMember(values, 'client_id'),
      clientSecret: values['client_secret'],
      authMethod: 'client_secret_post' as const,
      dialect: { isAlwaysBearer: true },
      // A person has named the host.
      suppliedBy: 'stranger' as const,
    }
    return oauth.clientCredentials(client, scopes)
  }
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

/** The token endpoint of the credential's tenant. */
function tenantUrl({ method, values }: Pick<MintSource, 'method' | 'values'>): URL | undefined {
  if (method.token_url === undefined) return undefined
  return new URL(render(parseTemplate(method.token_url) ?? [], (name) => textOfMember(values, name)))
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
    account: (_needs, { method, values }) => {
      const id = textOfMember(values, 'client_id')
      const tenant = tenantUrl({ method, values })
      // One client may be known to many tenants.
      if (tenant) return { id: `${tenant.host}/${id}`, label: tenant.host }
      return { id, label: toDisplayName(id, 200) ?? null }
    },
  },
}
