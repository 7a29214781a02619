import type { AuthMethodForm } from '@sallyport/protocol/auth-methods'
import type { Provider as PublicView, ProviderDetails } from '@sallyport/protocol/providers'
import { abilitiesAt } from './abilities.ts'
import { checksOf } from './auth-kinds/auth-kind.ts'
import type { AuthMethod } from './auth-method.ts'
import { findPreset } from './presets/catalogue.ts'
import { hasDeviceFlow, isVerified, redirectUri } from './provider.ts'
import type { Provider } from './provider.ts'

export function publicView(provider: Provider): PublicView {
  const preset = provider.preset === null ? undefined : findPreset(provider.preset)
  return {
    provider_id: provider.providerId,
    provider_name: provider.name,
    slug: provider.slug,
    issuer_url: provider.metadata.issuer ?? null,
    scopes: provider.scopes,
    api_hosts: provider.apiHosts,
    device_flow: hasDeviceFlow(provider) && provider.clientId !== null,
    // OAuth that lacks a client is a conflict.
    auth_methods: provider.authMethods
      .filter(({ kind }) => kind !== 'oauth2' || provider.clientId !== null)
      .map(formOf),
    docs: [...(preset?.docs ?? [])],
    env: [...new Set(preset?.authMethods.flatMap(({ env = [] }) => env))],
    abilities: abilitiesAt(provider.preset, provider.apiHosts),
    verified: isVerified(provider),
    status: provider.status,
  }
}

/** What people need to know to fill in a form. */
export function formOf(method: AuthMethod): AuthMethodForm {
  const { kind, name, label, help, members } = method
  return { kind, name, label, help, members, checks: checksOf(method) }
}

/** For an admin, and for the agent that proposed it. */
export function detailsView(provider: Provider, baseUrl: URL): ProviderDetails {
  const { metadata } = provider
  return {
    ...publicView(provider),
    device_flow: hasDeviceFlow(provider),
    auth_methods: provider.authMethods.map((method) => ({ ...method, checks: checksOf(method) })),
    source: provider.source,
    preset: provider.preset,
    proposed_by: provider.proposedBy,
    discovery_url: provider.discoveryUrl,
    authorization_url: metadata.authorization_endpoint ?? null,
    token_url: metadata.token_endpoint ?? null,
    registration_endpoint: metadata.registration_endpoint ?? null,
    device_authorization_endpoint: metadata.device_authorization_endpoint ?? null,
    revocation_endpoint: metadata.revocation_endpoint ?? null,
    userinfo_endpoint: metadata.userinfo_endpoint ?? null,
    client_id: provider.clientId,
    has_client_secret: provider.clientId !== null && provider.authMethod !== 'none',
    token_endpoint_auth_method: provider.authMethod,
    authorization_params: provider.authorizationParams,
    injection: provider.injection,
    allow_range: provider.allowRange,
    registration_error: provider.registrationError,
    redirect_uri: redirectUri(baseUrl, provider.slug),
    created_at: provider.createdAt.toISOString(),
    updated_at: provider.updatedAt.toISOString(),
  }
}
