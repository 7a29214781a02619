import { auditOf } from './audit.ts'
import type { Audit } from './audit.ts'
import { followEvents } from './events.ts'
import type { ServiceEvent } from './events.ts'
import { listing } from './listing.ts'
import type { Listing } from './listing.ts'
import { createTransport, segment } from './transport.ts'
import type { CallOptions, ClientOptions } from './transport.ts'
import type * as wire from './wire.ts'

export interface UserClientOptions extends Omit<ClientOptions, 'baseUrl'> {
  /** Where the service is. In a page of the service itself it can be left out. */
  baseUrl?: string | undefined
  /** A session token. Without one, a browser's own session cookie speaks. */
  token?: string | undefined
}

type Options = CallOptions | undefined

/** A person: decides on access requests, and sees and ends what came of them. */
export interface UserClient {
  auth: {
    /** Whom a login token would sign in; it stays usable. */
    preview: (loginToken: string, options?: Options) => Promise<wire.LoginPreviewReply>
    /** Starts a session. A browser keeps its cookie; elsewhere make a client with `session_token`. */
    login: (loginToken: string, options?: Options) => Promise<wire.LoginReply>
    /** The ways to sign in with a browser. */
    providers: (options?: Options) => Promise<wire.LoginProvidersReply>
    me: (options?: Options) => Promise<wire.MeReply>
    /** Switches “approve on device only” on, or off with a device's signature. */
    changeMe: (change: wire.ChangeMeBody, options?: Options) => Promise<wire.MeReply>
    logout: (options?: Options) => Promise<wire.Session>
    logoutAll: (options?: Options) => Promise<wire.LogoutAllReply>
  }
  sessions: {
    list: (query?: wire.ListSessionsQuery, options?: Options) => Listing<wire.SessionPage, wire.Session>
    revoke: (sessionId: string, options?: Options) => Promise<wire.Session>
  }
  accessRequests: {
    /** Those that wait for you. */
    pending: (query?: wire.PageQuery, options?: Options) => Listing<wire.AccessRequestPage, wire.AccessRequest>
    get: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
    /** A grant comes into being, never wider than what was asked for. */
    approve: (accessRequestId: string, decision: wire.ApproveBody, options?: Options) => Promise<wire.Grant>
    deny: (accessRequestId: string, denial?: wire.DenyBody, options?: Options) => Promise<wire.AccessRequest>
  }
  grants: {
    list: (query?: wire.ListGrantsQuery, options?: Options) => Listing<wire.GrantPage, wire.Grant>
    /** Ends it, and whatever is under way with it. */
    revoke: (grantId: string, options?: Options) => Promise<wire.Grant>
    receipt: (grantId: string, options?: Options) => Promise<wire.Receipt>
  }
  connections: {
    list: (query?: wire.ListConnectionsQuery, options?: Options) => Listing<wire.ConnectionPage, wire.Connection>
    /** Renews its token where that is due, and shows it. */
    check: (connectionId: string, options?: Options) => Promise<wire.Connection>
    revoke: (connectionId: string, options?: Options) => Promise<wire.Connection>
    /** Where to send the browser that is signed in, for the provider's consent. */
    start: (body: wire.StartConnectBody, options?: Options) => Promise<wire.StartConnectReply>
    /** The same with a code that is entered elsewhere. */
    startDeviceFlow: (body: wire.StartDeviceFlowBody, options?: Options) => Promise<wire.StartDeviceFlowReply>
    pollDeviceFlow: (deviceFlowId: string, options?: Options) => Promise<wire.PollDeviceFlowReply>
  }
  devices: {
    list: (query?: wire.ListDevicesQuery, options?: Options) => Listing<wire.DevicePage, wire.Device>
    createPairingCode: (options?: Options) => Promise<wire.PairingCodeReply>
    setPushToken: (deviceId: string, body: wire.PushTokenBody, options?: Options) => Promise<wire.Device>
    enrol: (deviceId: string, signed?: wire.SignedBody, options?: Options) => Promise<wire.Device>
    revoke: (deviceId: string, signed?: wire.SignedBody, options?: Options) => Promise<wire.Device>
  }
  mutedAgents: {
    list: (query?: wire.PageQuery, options?: Options) => Listing<wire.MutedAgentPage, wire.MutedAgent>
    block: (agentId: string, options?: Options) => Promise<wire.MutedAgent>
    unmute: (agentId: string, options?: Options) => Promise<void>
  }
  providers: {
    list: (query?: wire.ListProvidersQuery, options?: Options) => Listing<wire.ProviderPage, wire.Provider>
  }
  audit: Audit
  /** What has changed, as it changes. Connects again whenever the connection ends; ends when the signal is aborted. */
  events: (options?: CallOptions) => AsyncGenerator<ServiceEvent, void, undefined>
}

/**
 * ```ts
 * const user = createUserClient({ baseUrl, token: sessionToken })
 * for await (const request of user.accessRequests.pending()) console.log(request.agent.name, request.reason)
 * ```
 */
export function createUserClient(given: UserClientOptions = {}): UserClient {
  const transport = createTransport({ ...given, baseUrl: given.baseUrl ?? '' }, given.token)
  const get = <T>(path: string, options: Options) => transport.json<T>({ method: 'GET', path }, options)
  const post = <T>(path: string, body: unknown, options: Options) =>
    transport.json<T>({ method: 'POST', path, body }, options)
  const remove = <T>(path: string, body: unknown, options: Options) =>
    transport.json<T>({ method: 'DELETE', path, body }, options)

  return {
    auth: {
      preview: (loginToken, options) => post('/v4/auth/login/preview', { login_token: loginToken }, options),
      login: (loginToken, options) => post('/v4/auth/login', { login_token: loginToken }, options),
      providers: (options) => get('/v4/auth/providers', options),
      me: (options) => get('/v4/auth/me', options),
      changeMe: (body, options) => transport.json({ method: 'PATCH', path: '/v4/auth/me', body }, options),
      logout: (options) => post('/v4/auth/logout', {}, options),
      logoutAll: (options) => post('/v4/auth/logout-all', {}, options),
    },
    sessions: {
      list: (query, options) =>
        listing<wire.SessionPage, 'sessions'>(transport, '/v4/auth/sessions', 'sessions', query, options),
      revoke: (id, options) => remove(`/v4/auth/sessions/${segment(id)}`, undefined, options),
    },
    accessRequests: {
      pending: (query, options) =>
        listing<wire.AccessRequestPage, 'access_requests'>(
          transport,
          '/v4/access-requests/pending',
          'access_requests',
          query,
          options,
        ),
      get: (id, options) => get(`/v4/access-requests/${segment(id)}`, options),
      approve: (id, decision, options) => post(`/v4/access-requests/${segment(id)}/approve`, decision, options),
      deny: (id, denial, options) => post(`/v4/access-requests/${segment(id)}/deny`, denial ?? {}, options),
    },
    grants: {
      list: (query, options) => listing<wire.GrantPage, 'grants'>(transport, '/v4/grants', 'grants', query, options),
      revoke: (id, options) => post(`/v4/grants/${segment(id)}/revoke`, {}, options),
      receipt: (id, options) => get(`/v4/grants/${segment(id)}/receipt`, options),
    },
    connections: {
      list: (query, options) =>
        listing<wire.ConnectionPage, 'connections'>(transport, '/v4/connections', 'connections', query, options),
      check: (id, options) => post(`/v4/connections/${segment(id)}/check`, {}, options),
      revoke: (id, options) => remove(`/v4/connections/${segment(id)}`, undefined, options),
      start: (body, options) => post('/v4/oauth/connect/start', body, options),
      startDeviceFlow: (body, options) => post('/v4/oauth/device/start', body, options),
      pollDeviceFlow: (id, options) => post('/v4/oauth/device/poll', { device_flow_id: id }, options),
    },
    devices: {
      list: (query, options) =>
        listing<wire.DevicePage, 'devices'>(transport, '/v4/devices', 'devices', query, options),
      createPairingCode: (options) => post('/v4/devices/pairing-codes', {}, options),
      setPushToken: (id, body, options) => post(`/v4/devices/${segment(id)}/push-token`, body, options),
      enrol: (id, signed, options) => post(`/v4/devices/${segment(id)}/enrol`, signed ?? {}, options),
      revoke: (id, signed, options) => remove(`/v4/devices/${segment(id)}`, signed, options),
    },
    mutedAgents: {
      list: (query, options) =>
        listing<wire.MutedAgentPage, 'muted_agents'>(transport, '/v4/muted-agents', 'muted_agents', query, options),
      block: (id, options) => post(`/v4/muted-agents/${segment(id)}/block`, {}, options),
      unmute: async (id, options) => {
        await post(`/v4/muted-agents/${segment(id)}/unmute`, {}, options)
      },
    },
    providers: {
      list: (query, options) =>
        listing<wire.ProviderPage, 'providers'>(transport, '/v4/providers', 'providers', query, options),
    },
    audit: auditOf(transport),
    events: (options) => followEvents(transport, options),
  }
}
