/** Converts request bodies to the parameters of the use cases. */
import {
  CreateProviderBody,
  ProposeProviderBody,
  ProviderCredentialsBody,
  UpdateProviderBody,
} from '@sallyport/protocol/providers'
import type { ProviderEndpointsBody } from '@sallyport/protocol/providers'
import { ServiceError } from '../platform/errors.ts'
import { Secret } from '../platform/secret.ts'
import type { NewProvider } from './create.ts'
import type { MetadataInput } from './find-metadata.ts'
import type { ProviderChanges } from './update.ts'

export function changesOf({ provider_name, scopes, api_hosts, if_updated_at }: UpdateProviderBody): ProviderChanges {
  return {
    name: provider_name,
    scopes,
    apiHosts: api_hosts,
    ifUpdatedAt: if_updated_at === undefined ? undefined : new Date(if_updated_at),
  }
}

export function credentialsOf({ client_id, client_secret, token_endpoint_auth_method }: ProviderCredentialsBody) {
  return {
    clientId: client_id,
    clientSecret: client_secret === undefined ? undefined : new Secret(client_secret),
    authMethod: token_endpoint_auth_method,
  }
}

/** Includes the endpoints that only an admin can set. */
export function endpointsOf(body: ProviderEndpointsBody): MetadataInput {
  const { device_authorization_endpoint, revocation_endpoint, userinfo_endpoint } = body
  const input = metadataInputOf(body)
  return {
    ...input,
    metadata: {
      ...input.metadata,
      ...(device_authorization_endpoint !== undefined && { device_authorization_endpoint }),
      ...(revocation_endpoint !== undefined && { revocation_endpoint }),
      ...(userinfo_endpoint !== undefined && { userinfo_endpoint }),
    },
  }
}

export function newProviderOf(body: CreateProviderBody): NewProvider {
  return {
    ...endpointsOf(body),
    preset: body.preset,
    name: body.provider_name,
    slug: body.slug,
    scopes: body.scopes,
    clientId: body.client_id,
    clientSecret: body.client_secret === undefined ? undefined : new Secret(body.client_secret),
    authMethod: body.token_endpoint_auth_method,
    apiHosts: body.api_hosts,
    authorizationParams: body.authorization_params,
    injection: body.injection,
    allowRange: body.allow_range,
    authMethods: body.auth_methods,
  }
}

export function metadataInputOf(body: Partial<ProposeProviderBody>): MetadataInput {
  return {
    discoveryUrl: body.discovery_url,
    metadata: {
      ...(body.issuer_url !== undefined && { issuer: body.issuer_url }),
      ...(body.authorization_url !== undefined && { authorization_endpoint: body.authorization_url }),
      ...(body.token_url !== undefined && { token_endpoint: body.token_url }),
      ...(body.registration_endpoint !== undefined && { registration_endpoint: body.registration_endpoint }),
    },
  }
}

/** Throws if a body names a member that a provider keeps for life, or that is changed elsewhere. */
export function assertCanChange(body: unknown): void {
  const field = memberBeyond(UpdateProviderBody, body)
  if (field === undefined) return
  const message = has(ProviderCredentialsBody, field)
    ? `"${field}" is changed with PATCH /v4/providers/{id}/credentials.`
    : `"${field}" cannot be changed, because connections depend on it. Create another provider instead.`
  throw new ServiceError('invalid_field', { field, message })
}

/** Throws if a proposal names a member that an agent can't set. */
export function assertForAgents(body: unknown): void {
  const field = memberBeyond(ProposeProviderBody, body)
  if (field === undefined) return
  const message = `"${field}" can only be set by an administrator, in POST /v4/providers. Omit it.`
  throw new ServiceError('invalid_field', { field, message })
}

interface Body {
  properties: object
}

/** A member of a new provider that this request does not have. */
function memberBeyond(known: Body, body: unknown): string | undefined {
  const names = typeof body === 'object' && body !== null ? Object.keys(body) : []
  return names.find((name) => has(CreateProviderBody, name) && !has(known, name))
}

function has({ properties }: Body, name: string): boolean {
  return Object.hasOwn(properties, name)
}
