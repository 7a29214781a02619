import { auditOf } from '../audit.ts'
import type { Audit } from '../audit.ts'
import { listing } from '../listing.ts'
import type { Listing } from '../listing.ts'
import { readBounded } from '../read-bounded.ts'
import { createTransport, segment } from '../transport.ts'
import type { CallOptions, ClientOptions } from '../transport.ts'
import type * as wire from '../wire.ts'
import { isHeld } from './call-outcome.ts'
import { heldCallsOf } from './held-calls.ts'
import type { AgentCalls, HeldCallOptions } from './held-calls.ts'
import { proxiedFetch } from './proxied-fetch.ts'
import type { FetchOptions } from './proxied-fetch.ts'
import { waitForGrant } from './wait-for-grant.ts'
import type { WaitOptions } from './wait-for-grant.ts'

export interface AgentClientOptions extends ClientOptions {
  /** The agent token: `access_token` of {@link registerAgent}. */
  token: string
}

export interface ProxyCallOptions extends CallOptions, HeldCallOptions {
  /**
   * The service makes a call with this key only once, so the SDK can retry safely when the service does not respond.
   */
  idempotencyKey?: string | undefined
}

type Options = CallOptions | undefined
/** A call for `proxy`, which returns the complete response. Use `fetch` to stream. */
export type ProxyCall = Omit<wire.ProxyBody, 'stream' | 'dry_run'>

/** Client for an agent: it asks a user for access and calls APIs with the grants it gets. */
export interface AgentClient {
  /** Asks a user for access. Send them to `approval_url`. */
  requestAccess: (wanted: wire.CreateAccessRequestBody, options?: Options) => Promise<wire.CreateAccessRequestReply>
  /** Reads an access request and its current status. */
  accessRequest: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
  cancelRequest: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
  /**
   * Polls until the user has decided. Resolves to the approved request, with its `grant_id`. Throws `AccessDenied` or
   * `AccessExpired`.
   */
  waitForGrant: (accessRequestId: string, options?: WaitOptions) => Promise<wire.AccessRequest & { grant_id: string }>
  /**
   * Calls an API. The service adds the user's credential. If a person has to approve the call, this waits until they
   * have, without counting towards the timeout; an abort cancels the call.
   */
  proxy: (call: ProxyCall, options?: ProxyCallOptions) => Promise<wire.ProxyReply>
  /**
   * Returns a `fetch` that makes its requests under this grant, for any library that accepts a custom `fetch`. If the
   * library requires a token, pass any placeholder: the service adds the real one. If the service refuses a call, the
   * `Response` has the service's status and an `x-sallyport-error` header, unless `onRefusal` is set.
   */
  fetch: (grantId: string, options?: FetchOptions) => typeof globalThis.fetch
  /** The calls that a person had to approve. */
  calls: AgentCalls
  /** Tells whether a call would be allowed, without making it. */
  dryRun: (call: ProxyCall, options?: Options) => Promise<wire.DryRunReply>
  grants: (query?: wire.ListGrantsQuery, options?: Options) => Listing<wire.GrantPage, wire.Grant>
  /** Gives up a grant. It can't be used afterwards. */
  revokeGrant: (grantId: string, options?: Options) => Promise<wire.Grant>
  receipt: (grantId: string, options?: Options) => Promise<wire.Receipt>
  /** Keys that this agent gives its tools instead of its token. They reach the grants they name, for 24 hours at most. */
  toolKeys: {
    /** The key itself is returned only once. */
    create: (wanted: wire.CreateToolKeyBody, options?: Options) => Promise<wire.CreateToolKeyReply>
    list: (options?: Options) => Promise<wire.ToolKey[]>
    revoke: (keyId: string, options?: Options) => Promise<wire.ToolKey>
  }
  /** Where tools reach the service's forward proxy, with a key as the password. */
  gateway: (options?: Options) => Promise<wire.GatewayReply>
  /** The certificates (PEM) that a tool has to trust behind the gateway: the current authority, and the next or last one. */
  gatewayCertificates: (options?: Options) => Promise<string>
  /** Creates a grant for a test API that echoes each request. No user has to approve it. */
  sandbox: (options?: Options) => Promise<wire.StartSandboxReply>
  providers: (query?: wire.ListProvidersQuery, options?: Options) => Listing<wire.ProviderPage, wire.Provider>
  proposeProvider: (proposal: wire.ProposeProviderBody, options?: Options) => Promise<wire.ProviderDetails>
  me: (options?: Options) => Promise<wire.Agent>
  /** Replaces the agent token. This client uses the new one from then on. Store it: it is returned only once. */
  rotateToken: (options?: Options) => Promise<wire.RegisterAgentReply>
  audit: Audit
}

/**
 * Creates a client with an agent token.
 *
 * ```ts
 * const agent = createAgentClient({ baseUrl, token })
 * const { grant_id, echo_url } = await agent.sandbox()
 * const answer = await agent.proxy({ grant_id, method: 'GET', url: echo_url })
 * ```
 */
export function createAgentClient(given: AgentClientOptions): AgentClient {
  const transport = createTransport(given, given.token)
  const get = <T>(path: string, options: Options) => transport.json<T>({ method: 'GET', path }, options)
  const post = <T>(path: string, body: unknown, options: Options) =>
    transport.json<T>({ method: 'POST', path, body }, options)
  const { settle, ...calls } = heldCallsOf(transport)
  const accessRequest = (id: string, options?: Options) =>
    get<wire.AccessRequest>(`/v4/access-requests/${segment(id)}`, options)

  return {
    requestAccess: (wanted, options) => post('/v4/access-requests', wanted, options),
    accessRequest,
    cancelRequest: (id, options) => post(`/v4/access-requests/${segment(id)}/cancel`, {}, options),
    waitForGrant: (id, options) =>
      waitForGrant((signal, timeoutMs) => accessRequest(id, { signal, timeoutMs }), options),
    proxy: async (call, { idempotencyKey, waitMs, onWaiting, ...options } = {}) => {
      const timeoutMs = options.timeoutMs ?? proxyTimeoutMs(call, given)
      const reply = await transport.json<wire.ProxyReply | wire.HeldReply>(
        {
          method: 'POST',
          path: '/v4/proxy',
          body: call,
          rateWaitMs: timeoutMs,
          ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey }, isRepeatable: true }),
        },
        { ...options, timeoutMs },
      )
      return isHeld(reply) ? settle(reply, { signal: options.signal, waitMs, onWaiting }) : reply
    },
    fetch: (grantId, options) => proxiedFetch({ transport, settle }, grantId, options),
    calls,
    dryRun: (call, options) => post('/v4/proxy', { ...call, dry_run: true }, options),
    grants: (query, options) => listing<wire.GrantPage, 'grants'>(transport, '/v4/grants', 'grants', query, options),
    revokeGrant: (id, options) => post(`/v4/grants/${segment(id)}/revoke`, {}, options),
    receipt: (id, options) => get(`/v4/grants/${segment(id)}/receipt`, options),
    toolKeys: {
      create: (wanted, options) => post('/v4/agents/keys', wanted, options),
      list: async (options) => (await get<wire.ToolKeyList>('/v4/agents/keys', options)).keys,
      revoke: (id, options) => transport.json({ method: 'DELETE', path: `/v4/agents/keys/${segment(id)}` }, options),
    },
    gateway: (options) => get('/v4/gateway', options),
    gatewayCertificates: async (options) =>
      readBounded(await transport.open({ method: 'GET', path: '/v4/gateway/ca.pem' }, options), maxCertificateBytes),
    sandbox: (options) => post('/v4/sandbox/start', {}, options),
    providers: (query, options) =>
      listing<wire.ProviderPage, 'providers'>(transport, '/v4/providers', 'providers', query, options),
    proposeProvider: (proposal, options) => post('/v4/providers/proposals', proposal, options),
    me: (options) => get('/v4/agents/me', options),
    rotateToken: async (options) => {
      const rotated = await post<wire.RegisterAgentReply>('/v4/agents/rotate-token', {}, options)
      transport.useToken(rotated.access_token)
      return rotated
    },
    audit: auditOf(transport),
  }
}

const maxCertificateBytes = 64 * 1024

/** The upstream's timeout plus time to deliver the response. */
function proxyTimeoutMs({ timeout_ms: allowed = 60_000 }: ProxyCall, { timeoutMs }: ClientOptions): number {
  return Math.max(allowed + 10_000, timeoutMs ?? 0)
}
