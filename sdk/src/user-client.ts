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
  /** The service's URL. Can be omitted in a page that the service itself serves. */
  baseUrl?: string | undefined
  /** A session token. Without it the browser's session cookie is used. */
  token?: string | undefined
}

type Options = CallOptions | undefined

/** Client for a user: decides on access requests, and lists and revokes grants, connections and devices. */
export interface UserClient {
  auth: {
    /** Shows who a login token signs in, without using it up. */
    preview: (loginToken: string, options?: Options) => Promise<wire.LoginPreviewReply>
    /** Starts a session. A browser stores the cookie; elsewhere create a client with `session_token`. */
    login: (loginToken: string, options?: Options) => Promise<wire.LoginReply>
    /** The providers that users can sign in with. */
    providers: (options?: Options) => Promise<wire.LoginProvidersReply>
    me: (options?: Options) => Promise<wire.MeReply>
    /** Turns “approve on device only” on, or off with a device's signature. */
    changeMe: (change: wire.ChangeMeBody, options?: Options) => Promise<wire.MeReply>
    logout: (options?: Options) => Promise<wire.Session>
    logoutAll: (options?: Options) => Promise<wire.LogoutAllReply>
  }
  sessions: {
    list: (query?: wire.ListSessionsQuery, options?: Options) => Listing<wire.SessionPage, wire.Session>
    revoke: (sessionId: string, options?: Options) => Promise<wire.Session>
  }
  accessRequests: {
    /** Requests that are waiting for the user's decision. */
    pending: (query?: wire.PageQuery, options?: Options) => Listing<wire.AccessRequestPage, wire.AccessRequest>
    get: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
    /** Creates a grant, which is never wider than the request. */
    approve: (accessRequestId: string, decision: wire.ApproveBody, options?: Options) => Promise<wire.Grant>
    deny: (accessRequestId: string, denial?: wire.DenyBody, options?: Options) => Promise<wire.AccessRequest>
    /** Opens a request again that expired or was denied, or whose grant has ended: a new one to decide. */
    renew: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
  }
  /** Calls that wait for the user's decision, or did. */
  calls: {
    list: (query?: wire.ListCallsQuery, options?: Options) => Listing<wire.PersonCallPage, wire.PersonCall>
    get: (callId: string, options?: Options) => Promise<wire.PersonCall>
    /** With the `digest` of the call as it was shown, only that call is approved. */
    approve: (callId: string, decision?: wire.ApproveCallBody, options?: Options) => Promise<wire.PersonCall>
    deny: (callId: string, denial?: wire.DenyCallBody, options?: Options) => Promise<wire.PersonCall>
    /** Decides several calls, each on its own. Destructive ones have to be decided one by one. */
    decide: (decisions: wire.DecideCallsBody['decisions'], options?: Options) => Promise<wire.DecideCallsReply>
    receipt: (callId: string, options?: Options) => Promise<wire.CallReceipt>
    /** Calls that are allowed again without a question. */
    repeats: (query?: wire.PageQuery, options?: Options) => Listing<wire.RepeatPage, wire.Repeat>
    revokeRepeat: (repeatId: string, options?: Options) => Promise<void>
  }
  grants: {
    list: (query?: wire.ListGrantsQuery, options?: Options) => Listing<wire.GrantPage, wire.Grant>
    /** Revokes the grant and aborts calls in progress. */
    revoke: (grantId: string, options?: Options) => Promise<wire.Grant>
    receipt: (grantId: string, options?: Options) => Promise<wire.Receipt>
    /**
     * Changes its terms. Narrower ones apply at once, also to calls in progress. Wider ones count as an approval: at most
     * what was requested, and signed by a device if the user approves on devices only.
     */
    change: (grantId: string, change: wire.ChangeGrantBody, options?: Options) => Promise<wire.Grant>
    /** What it was used for in the last 30 days, and narrower terms that would have been enough. */
    usage: (grantId: string, options?: Options) => Promise<wire.GrantUseReply>
  }
  connections: {
    list: (query?: wire.ListConnectionsQuery, options?: Options) => Listing<wire.ConnectionPage, wire.Connection>
    /** Refreshes the token if it is due, and returns the connection. */
    check: (connectionId: string, options?: Options) => Promise<wire.Connection>
    revoke: (connectionId: string, options?: Options) => Promise<wire.Connection>
    /** Connects an account with a credential, such as an API key. It is stored only if the provider accepts it. */
    create: (body: wire.CreateConnectionBody, options?: Options) => Promise<wire.Connection>
    /** Replaces it. Grants stay if the provider names the same account. */
    replaceCredential: (
      connectionId: string,
      body: wire.ReplaceCredentialBody,
      options?: Options,
    ) => Promise<wire.Connection>
    /** Starts connecting an account. Send the signed-in browser to the returned URL to get the provider's consent. */
    start: (body: wire.StartConnectBody, options?: Options) => Promise<wire.StartConnectReply>
    /** Starts connecting an account with a code that the user enters on another device. */
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
  /** What the user calls agents. Only they see it. */
  agentNames: {
    list: (query?: wire.PageQuery, options?: Options) => Listing<wire.AgentNamePage, wire.AgentName>
    put: (agentId: string, name: string, options?: Options) => Promise<wire.AgentName>
    drop: (agentId: string, options?: Options) => Promise<void>
  }
  /** E-mail about new requests and refused calls. */
  mail: {
    get: (options?: Options) => Promise<wire.Mail>
    turnOn: (options?: Options) => Promise<wire.Mail>
    turnOff: (options?: Options) => Promise<wire.Mail>
  }
  /** Since when this user's agents are paused, and all agents of the service. */
  pauseState: (options?: Options) => Promise<wire.Pause>
  /** Pauses this user's agents: calls in progress end within a second, and none begins. */
  pause: (options?: Options) => Promise<wire.Pause>
  resume: (options?: Options) => Promise<wire.Pause>
  providers: {
    list: (query?: wire.ListProvidersQuery, options?: Options) => Listing<wire.ProviderPage, wire.Provider>
    /** What is known about providers in advance. Accounts of those that are `connectable` can be connected now. */
    presets: (query?: wire.ListPresetsQuery, options?: Options) => Listing<wire.PresetPage, wire.Preset>
  }
  audit: Audit
  /** Streams changes as they happen. Reconnects when the connection is lost, and ends when the signal is aborted. */
  events: (options?: CallOptions) => AsyncGenerator<ServiceEvent, void, undefined>
}

/**
 * Creates a client with a session token or, in a browser, the session cookie.
 *
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
      renew: (id, options) => post(`/v4/access-requests/${segment(id)}/renew`, {}, options),
    },
    calls: {
      list: (query, options) => listing<wire.PersonCallPage, 'calls'>(transport, '/v4/calls', 'calls', query, options),
      get: (id, options) => get(`/v4/calls/${segment(id)}`, options),
      approve: (id, decision, options) => post(`/v4/calls/${segment(id)}/approve`, decision ?? {}, options),
      deny: (id, denial, options) => post(`/v4/calls/${segment(id)}/deny`, denial ?? {}, options),
      decide: (decisions, options) => post('/v4/calls/decide', { decisions }, options),
      receipt: (id, options) => get(`/v4/calls/${segment(id)}/receipt`, options),
      repeats: (query, options) =>
        listing<wire.RepeatPage, 'repeats'>(transport, '/v4/calls/repeats', 'repeats', query, options),
      revokeRepeat: async (id, options) => {
        await remove(`/v4/calls/repeats/${segment(id)}`, undefined, options)
      },
    },
    grants: {
      list: (query, options) => listing<wire.GrantPage, 'grants'>(transport, '/v4/grants', 'grants', query, options),
      revoke: (id, options) => post(`/v4/grants/${segment(id)}/revoke`, {}, options),
      receipt: (id, options) => get(`/v4/grants/${segment(id)}/receipt`, options),
      change: (id, body, options) =>
        transport.json({ method: 'PATCH', path: `/v4/grants/${segment(id)}`, body }, options),
      usage: (id, options) => get(`/v4/grants/${segment(id)}/usage`, options),
    },
    connections: {
      list: (query, options) =>
        listing<wire.ConnectionPage, 'connections'>(transport, '/v4/connections', 'connections', query, options),
      check: (id, options) => post(`/v4/connections/${segment(id)}/check`, {}, options),
      revoke: (id, options) => remove(`/v4/connections/${segment(id)}`, undefined, options),
      create: (body, options) => post('/v4/connections', body, options),
      replaceCredential: (id, body, options) =>
        transport.json({ method: 'PUT', path: `/v4/connections/${segment(id)}/credential`, body }, options),
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
    agentNames: {
      list: (query, options) =>
        listing<wire.AgentNamePage, 'agent_names'>(transport, '/v4/agent-names', 'agent_names', query, options),
      put: (id, name, options) =>
        transport.json({ method: 'PUT', path: `/v4/agent-names/${segment(id)}`, body: { name } }, options),
      drop: async (id, options) => {
        await remove(`/v4/agent-names/${segment(id)}`, undefined, options)
      },
    },
    mail: {
      get: (options) => get('/v4/mail', options),
      turnOn: (options) => transport.json({ method: 'PUT', path: '/v4/mail', body: {} }, options),
      turnOff: (options) => remove('/v4/mail', undefined, options),
    },
    pauseState: (options) => get('/v4/pause', options),
    pause: (options) => transport.json({ method: 'PUT', path: '/v4/pause', body: {} }, options),
    resume: (options) => transport.json({ method: 'DELETE', path: '/v4/pause' }, options),
    providers: {
      list: (query, options) =>
        listing<wire.ProviderPage, 'providers'>(transport, '/v4/providers', 'providers', query, options),
      presets: (query, options) =>
        listing<wire.PresetPage, 'presets'>(transport, '/v4/providers/presets', 'presets', query, options),
    },
    audit: auditOf(transport),
    events: (options) => followEvents(transport, options),
  }
}
