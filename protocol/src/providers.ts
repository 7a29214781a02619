import { Type, type Static } from 'typebox'
import { Ability } from './abilities.ts'
import { AuthMethodDetails, AuthMethodForm, AuthMethods } from './auth-methods.ts'
import { ListQuery, maxPageSize, Page } from './lists.ts'
import { Dictionary, DisplayName, Nullable, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const providerStatuses = ['active', 'pending_credentials', 'disabled'] as const

/** Lower-case letters, digits and hyphens: part of the OAuth callback path. */
export const Slug = Type.String({ pattern: '^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$', examples: ['github'] })

/** One scope (RFC 6749 §3.3). */
export const scopePattern = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/
export const Scope = Type.String({ pattern: scopePattern.source })
export const Scopes = Type.Array(Scope, { maxItems: 100, uniqueItems: true })

const HttpsUrl = Text({ minLength: 1, maxLength: 2000 })

/** `example.com` or `*.example.com`, with an optional port. */
export const ApiHost = Type.String({ pattern: '^[a-z0-9.*:\\[\\]-]{1,255}$', examples: ['api.github.com'] })

const authMethod = Type.Enum(['client_secret_basic', 'client_secret_post', 'none'])
export type AuthMethod = Static<typeof authMethod>

/** RFC 6749 appendix A.1 and A.2: other characters could not be sent. */
export const clientIdPattern = /^[\x20-\x7e]{1,500}$/
export const clientSecretPattern = /^[\x20-\x7e]{1,2000}$/
const ClientId = Type.String({ pattern: clientIdPattern.source })
const ClientSecret = Type.String({ pattern: clientSecretPattern.source })

export const Injection = Strict({
  in: Type.Literal('header'),
  name: Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" }),
  prefix: Type.String({ pattern: '^[\\x20-\\x7e]{0,100}$' }),
})

/** The members of a provider that anyone may see. */
const publicView = {
  provider_id: RecordId('prv'),
  provider_name: Type.String(),
  slug: Slug,
  issuer_url: Nullable(
    Type.String({
      description: 'null: it does not use OAuth, or is a proposal whose endpoints an administrator has yet to set',
    }),
  ),
  scopes: Type.Array(Type.String()),
  api_hosts: Type.Array(Type.String()),
  device_flow: Type.Boolean({ description: 'Whether the device flow (RFC 8628) is supported' }),
  auth_methods: Type.Array(AuthMethodForm, { description: 'How accounts can be connected' }),
  docs: Type.Array(Type.String(), { description: "Of a preset: the provider's own pages about credentials and APIs" }),
  env: Type.Array(Type.String(), {
    description: 'Of a preset: the environment variables that tools of the provider read a credential from',
    examples: [['GH_TOKEN', 'GITHUB_TOKEN']],
  }),
  abilities: Type.Array(Ability, { description: 'Of a preset: what calls to its API can do, in plain words' }),
  verified: Type.Boolean({ description: 'false: an agent proposed it, and its URLs come from that agent' }),
  status: Type.Enum(providerStatuses),
}

export const Provider = Type.Object(publicView)
export type Provider = Static<typeof Provider>

/** Also visible to admins and to the agent that proposed the provider. Never includes the client secret. */
export const ProviderDetails = Type.Object({
  ...publicView,
  auth_methods: Type.Array(AuthMethodDetails),
  source: Type.Enum(['admin', 'preset', 'proposal']),
  preset: Nullable(Type.String()),
  proposed_by: Nullable(Type.String({ description: 'The agent that proposed it' })),
  discovery_url: Nullable(Type.String()),
  authorization_url: Nullable(Type.String()),
  token_url: Nullable(Type.String()),
  registration_endpoint: Nullable(Type.String()),
  device_authorization_endpoint: Nullable(Type.String()),
  revocation_endpoint: Nullable(Type.String()),
  userinfo_endpoint: Nullable(Type.String()),
  client_id: Nullable(Type.String()),
  has_client_secret: Type.Boolean(),
  token_endpoint_auth_method: authMethod,
  authorization_params: Dictionary(Type.String()),
  injection: Injection,
  allow_range: Type.Boolean(),
  registration_error: Nullable(Type.String({ description: 'Why dynamic client registration failed' })),
  redirect_uri: Type.String({ description: 'The redirect URI to register with the provider' }),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type ProviderDetails = Static<typeof ProviderDetails>

const proposal = {
  provider_name: DisplayName({ minLength: 1, maxLength: 100 }),
  slug: Type.Optional(Slug),
  discovery_url: Type.Optional(HttpsUrl),
  issuer_url: Type.Optional(HttpsUrl),
  authorization_url: Type.Optional(HttpsUrl),
  token_url: Type.Optional(HttpsUrl),
  registration_endpoint: Type.Optional(HttpsUrl),
  scopes: Type.Optional(Scopes),
}

export const ProposeProviderBody = Strict({
  ...proposal,
  api_hosts: Type.Optional(
    Type.Array(ApiHost, {
      minItems: 1,
      maxItems: 10,
      uniqueItems: true,
      description:
        'Hosts that tokens may be sent to, on the same site as the endpoints and without wildcards. Default: those of the issuer and token endpoint',
    }),
  ),
})
export type ProposeProviderBody = Static<typeof ProposeProviderBody>

/** The endpoints. A proposal without them waits until an admin sets them. */
export const ProviderEndpointsBody = Strict({
  discovery_url: proposal.discovery_url,
  issuer_url: proposal.issuer_url,
  authorization_url: proposal.authorization_url,
  token_url: proposal.token_url,
  registration_endpoint: proposal.registration_endpoint,
  device_authorization_endpoint: Type.Optional(HttpsUrl),
  revocation_endpoint: Type.Optional(HttpsUrl),
  userinfo_endpoint: Type.Optional(HttpsUrl),
})
export type ProviderEndpointsBody = Static<typeof ProviderEndpointsBody>

const credentials = {
  client_id: ClientId,
  client_secret: Type.Optional(ClientSecret),
  token_endpoint_auth_method: Type.Optional(authMethod),
}

export const ProviderCredentialsBody = Strict(credentials)
export type ProviderCredentialsBody = Static<typeof ProviderCredentialsBody>

/** Which client to test: one that is given, or the stored one of a provider. */
export const TestClientBody = Strict({
  preset: Type.Optional(Text({ minLength: 1, maxLength: 40, description: 'Instead of provider_id' })),
  provider_id: Type.Optional(Text({ minLength: 1, maxLength: 100 })),
  ...credentials,
  client_id: Type.Optional(Type.String({ pattern: clientIdPattern.source, description: 'Default: the stored one' })),
})
export type TestClientBody = Static<typeof TestClientBody>

export const TestClientReply = Type.Object({
  result: Type.Enum(['accepted', 'refused', 'unknown'], {
    description: 'unknown: the provider answers alike for a client that it does not know',
  }),
  error: Nullable(Type.String({ description: 'The error code of the provider' })),
})
export type TestClientReply = Static<typeof TestClientReply>

const apiHostsSize = { minItems: 1, maxItems: 100, uniqueItems: true }
const apiHostsReplaced =
  'All hosts that tokens may be sent to; replaces the list. Existing grants do not cover added hosts; calls to removed hosts are refused immediately.'
const scopesOfNewOnes = 'Scopes requested when an account is connected from now on'

/**
 * Either a preset by name, or the metadata, in full or to be discovered. Other members override the preset's. Without
 * an `oauth2` method in `auth_methods`, a name and `api_hosts` are enough.
 */
export const CreateProviderBody = Strict({
  ...proposal,
  provider_name: Type.Optional(proposal.provider_name),
  preset: Type.Optional(Text({ minLength: 1, maxLength: 40 })),
  ...credentials,
  client_id: Type.Optional(ClientId),
  device_authorization_endpoint: Type.Optional(HttpsUrl),
  revocation_endpoint: Type.Optional(HttpsUrl),
  userinfo_endpoint: Type.Optional(HttpsUrl),
  api_hosts: Type.Optional(Type.Array(ApiHost, apiHostsSize)),
  authorization_params: Type.Optional(Dictionary(Text({ maxLength: 500 }), { maxProperties: 50 })),
  injection: Type.Optional(Injection),
  allow_range: Type.Optional(Type.Boolean()),
  auth_methods: Type.Optional(AuthMethods),
})
export type CreateProviderBody = Static<typeof CreateProviderBody>

/**
 * What an admin can change. Endpoints and slug are fixed: create another provider instead. `if_updated_at` prevents
 * overwriting a change that was made since the provider was read.
 */
export const UpdateProviderBody = Strict({
  provider_name: Type.Optional(proposal.provider_name),
  scopes: Type.Optional(Type.Array(Scope, { maxItems: 100, uniqueItems: true, description: scopesOfNewOnes })),
  api_hosts: Type.Optional(Type.Array(ApiHost, { ...apiHostsSize, description: apiHostsReplaced })),
  if_updated_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'The updated_at that you read. If the provider has changed since, the response is 409 conflict.',
    }),
  ),
})
export type UpdateProviderBody = Static<typeof UpdateProviderBody>

/** Only active ones are listed without an admin token. */
export const ListProvidersQuery = ListQuery('prv', [...providerStatuses, 'all'])
export type ListProvidersQuery = Static<typeof ListProvidersQuery>
export const ProviderPage = Page('providers', Type.Union([ProviderDetails, Provider]))
export type ProviderPage = Static<typeof ProviderPage>

/** A built-in provider definition: an admin only has to add a client id and secret. */
export const Preset = Type.Object({
  preset: Type.String({ description: 'The value for "preset", and the slug' }),
  provider_name: Type.String(),
  issuer_url: Nullable(Type.String({ description: 'null: it does not use OAuth' })),
  scopes: Type.Array(Type.String()),
  api_hosts: Type.Array(Type.String()),
  device_flow: Type.Boolean(),
  auth_methods: Type.Array(AuthMethodForm, { description: 'How accounts can be connected' }),
  needs_client: Type.Boolean({
    description: 'Whether no account can be connected until an administrator has registered an OAuth client',
  }),
  connectable: Type.Boolean({
    description:
      'Whether POST /v4/connections takes it as "provider_slug", although there is no such provider yet. ' +
      'The provider is created with the first account',
  }),
  redirect_uri: Type.String({ description: 'The redirect URI to register with the provider' }),
  register_url: Nullable(Type.String({ description: "The provider's own page where an OAuth app is registered" })),
  notes: Nullable(Type.String({ description: 'Notes for registering the client' })),
  docs: Type.Array(Type.String()),
})
export type Preset = Static<typeof Preset>

export const ListPresetsQuery = Strict({
  query: Type.Optional(Text({ maxLength: 100, description: 'Words that are part of its names or hosts' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPageSize, default: maxPageSize })),
  cursor: Type.Optional(Slug),
})
export type ListPresetsQuery = Static<typeof ListPresetsQuery>
export const PresetPage = Page('presets', Preset)
export type PresetPage = Static<typeof PresetPage>
