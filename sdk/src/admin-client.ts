import { operatorHeader } from '@sallyport/protocol/operator-header'
import { auditOf } from './audit.ts'
import type { Audit } from './audit.ts'
import { listing } from './listing.ts'
import type { Listing } from './listing.ts'
import { createTransport, segment } from './transport.ts'
import type { CallOptions, ClientOptions } from './transport.ts'
import type * as wire from './wire.ts'

/** `asOperator`: in a browser, with the session of a local operator instead of the token. */
export type AdminClientOptions = ClientOptions & ({ adminToken: string } | { asOperator: true })

type Options = CallOptions | undefined
/** Admins see the full details of each provider. */
export type ProviderDetailsPage = wire.ProviderPage & { providers: wire.ProviderDetails[] }

/** Client for the service's administrator. */
export interface AdminClient {
  agents: {
    list: (query?: wire.ListAgentsQuery, options?: Options) => Listing<wire.AgentPage, wire.ListedAgent>
    disable: (agentId: string, options?: Options) => Promise<wire.Agent>
    /** Its token and its grants that have not ended work again. */
    enable: (agentId: string, options?: Options) => Promise<wire.Agent>
  }
  users: {
    list: (query?: wire.ListUsersQuery, options?: Options) => Listing<wire.UserPage, wire.ListedUser>
    disable: (userId: string, options?: Options) => Promise<wire.User>
    /** The user can sign in again, and their grants that have not ended work again. */
    enable: (userId: string, options?: Options) => Promise<wire.User>
    /** Turns off device-only approval for a user who has lost their devices. */
    resetDeviceApproval: (userId: string, options?: Options) => Promise<wire.User>
  }
  /** Creates a login link that works once. */
  createLoginToken: (body?: wire.CreateLoginTokenBody, options?: Options) => Promise<wire.CreateLoginTokenReply>
  /** Since when all agents of the service are paused. */
  pauseState: (options?: Options) => Promise<wire.Pause>
  /** Pauses all agents of the service: calls in progress end within a second, and none begins. */
  pause: (options?: Options) => Promise<wire.Pause>
  resume: (options?: Options) => Promise<wire.Pause>
  providers: {
    list: (query?: wire.ListProvidersQuery, options?: Options) => Listing<ProviderDetailsPage, wire.ProviderDetails>
    presets: (options?: Options) => Promise<wire.PresetPage>
    create: (body: wire.CreateProviderBody, options?: Options) => Promise<wire.ProviderDetails>
    /** Changes the name, scopes or API hosts. Pass the `updated_at` that you read as `if_updated_at`. */
    update: (providerId: string, body: wire.UpdateProviderBody, options?: Options) => Promise<wire.ProviderDetails>
    /** Sets the endpoints that a proposal lacks. It can't be activated without them. */
    setEndpoints: (
      providerId: string,
      body: wire.ProviderEndpointsBody,
      options?: Options,
    ) => Promise<wire.ProviderDetails>
    /** Asks the provider whether it knows an OAuth client, before it is saved. Stores nothing. */
    testClient: (body: wire.TestClientBody, options?: Options) => Promise<wire.TestClientReply>
    setCredentials: (
      providerId: string,
      body: wire.ProviderCredentialsBody,
      options?: Options,
    ) => Promise<wire.ProviderDetails>
    enable: (providerId: string, options?: Options) => Promise<wire.ProviderDetails>
    disable: (providerId: string, options?: Options) => Promise<wire.ProviderDetails>
    /** Fetches the provider's metadata again. */
    rediscover: (providerId: string, options?: Options) => Promise<wire.ProviderDetails>
    delete: (providerId: string, options?: Options) => Promise<wire.ProviderDetails>
  }
  connections: {
    /** The connections of the user that `user_id` names. */
    list: (
      query: wire.ListConnectionsQuery & { user_id: string },
      options?: Options,
    ) => Listing<wire.ConnectionPage, wire.Connection>
    /** Connects an account for the user that `user_id` names. */
    create: (body: wire.CreateConnectionBody, options?: Options) => Promise<wire.Connection>
    replaceCredential: (
      connectionId: string,
      body: wire.ReplaceCredentialBody,
      options?: Options,
    ) => Promise<wire.Connection>
  }
  audit: Audit
  /** The state of the service, and problems that need attention. */
  health: (options?: Options) => Promise<wire.HealthReply>
}

/**
 * Creates a client with an admin token.
 *
 * ```ts
 * const admin = createAdminClient({ baseUrl, adminToken })
 * const { login_url } = await admin.createLoginToken({ email: 'ada@example.com' })
 * ```
 */
export function createAdminClient(given: AdminClientOptions): AdminClient {
  const transport =
    'adminToken' in given ? createTransport(given, given.adminToken) : createTransport(withHeader(given))
  const post = <T>(path: string, body: unknown, options: Options) =>
    transport.json<T>({ method: 'POST', path, body }, options)
  const act = (noun: string, verb: string) => (id: string, options: Options) =>
    post<never>(`/v4/${noun}/${segment(id)}/${verb}`, {}, options)

  return {
    agents: {
      list: (query, options) => listing<wire.AgentPage, 'agents'>(transport, '/v4/agents', 'agents', query, options),
      disable: act('agents', 'disable'),
      enable: act('agents', 'enable'),
    },
    users: {
      list: (query, options) => listing<wire.UserPage, 'users'>(transport, '/v4/users', 'users', query, options),
      disable: act('users', 'disable'),
      enable: act('users', 'enable'),
      resetDeviceApproval: act('users', 'reset-device-approval'),
    },
    createLoginToken: (body, options) => post('/v4/auth/login-tokens', body ?? {}, options),
    pauseState: (options) => transport.json({ method: 'GET', path: '/v4/pause' }, options),
    pause: (options) => transport.json({ method: 'PUT', path: '/v4/pause', body: {} }, options),
    resume: (options) => transport.json({ method: 'DELETE', path: '/v4/pause' }, options),
    providers: {
      list: (query, options) =>
        listing<ProviderDetailsPage, 'providers'>(transport, '/v4/providers', 'providers', query, options),
      presets: (options) => transport.json({ method: 'GET', path: '/v4/providers/presets' }, options),
      create: (body, options) => post('/v4/providers', body, options),
      update: (id, body, options) =>
        transport.json({ method: 'PATCH', path: `/v4/providers/${segment(id)}`, body }, options),
      setEndpoints: (id, body, options) =>
        transport.json({ method: 'PATCH', path: `/v4/providers/${segment(id)}/endpoints`, body }, options),
      testClient: (body, options) => post('/v4/providers/test-client', body, options),
      setCredentials: (id, body, options) =>
        transport.json({ method: 'PATCH', path: `/v4/providers/${segment(id)}/credentials`, body }, options),
      enable: act('providers', 'enable'),
      disable: act('providers', 'disable'),
      rediscover: act('providers', 'rediscover'),
      delete: (id, options) => transport.json({ method: 'DELETE', path: `/v4/providers/${segment(id)}` }, options),
    },
    connections: {
      list: (query, options) =>
        listing<wire.ConnectionPage, 'connections'>(transport, '/v4/connections', 'connections', query, options),
      create: (body, options) => post('/v4/connections', body, options),
      replaceCredential: (id, body, options) =>
        transport.json({ method: 'PUT', path: `/v4/connections/${segment(id)}/credential`, body }, options),
    },
    audit: auditOf(transport),
    health: (options) => transport.json({ method: 'GET', path: '/v4/health' }, options),
  }
}

function withHeader({ fetch = globalThis.fetch.bind(globalThis), ...given }: ClientOptions): ClientOptions {
  return {
    ...given,
    fetch: (url, init) => {
      const headers = new Headers(init?.headers)
      headers.set(operatorHeader, '1')
      return fetch(url, { ...init, headers })
    },
  }
}
