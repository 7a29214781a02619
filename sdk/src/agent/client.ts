import { auditOf } from '../audit.ts'
import type { Audit } from '../audit.ts'
import { listing } from '../listing.ts'
import type { Listing } from '../listing.ts'
import { createTransport, segment } from '../transport.ts'
import type { CallOptions, ClientOptions } from '../transport.ts'
import type * as wire from '../wire.ts'
import { proxiedFetch } from './proxied-fetch.ts'
import type { FetchOptions } from './proxied-fetch.ts'
import { waitForGrant } from './wait-for-grant.ts'
import type { WaitOptions } from './wait-for-grant.ts'

export interface AgentClientOptions extends ClientOptions {
  /** The agent token: `access_token` of {@link registerAgent}. */
  token: string
}

export interface ProxyCallOptions extends CallOptions {
  /** The same call with the same key reaches the upstream once; so it is made again where the service was away. */
  idempotencyKey?: string | undefined
}

type Options = CallOptions | undefined
/** A call of `proxy`, whose answer comes whole. For one that is streamed there is `fetch`. */
export type ProxyCall = Omit<wire.ProxyBody, 'stream' | 'dry_run'>

/** An agent: asks a person for access, and calls APIs with what it was granted. */
export interface AgentClient {
  /** Asks a person for access; send them to `approval_url`. */
  requestAccess: (wanted: wire.CreateAccessRequestBody, options?: Options) => Promise<wire.CreateAccessRequestReply>
  /** What became of an access request. */
  accessRequest: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
  cancelRequest: (accessRequestId: string, options?: Options) => Promise<wire.AccessRequest>
  /**
   * Asks now and then, until somebody has decided. Resolves to the approved request, whose `grant_id` is set; throws
   * `AccessDenied` or `AccessExpired`.
   */
  waitForGrant: (accessRequestId: string, options?: WaitOptions) => Promise<wire.AccessRequest & { grant_id: string }>
  /** Calls an API with the person's credential, which the service puts in. */
  proxy: (call: ProxyCall, options?: ProxyCallOptions) => Promise<wire.ProxyReply>
  /**
   * A `fetch` for any library that takes one: whatever it asks for is called under this grant. Give the library any
   * text for a token; what counts is put in by the service. A refused call is a `Response` with the service's status
   * and `x-sallyport-error`, unless `onRefusal` says otherwise.
   */
  fetch: (grantId: string, options?: FetchOptions) => typeof globalThis.fetch
  /** Says whether a call would be made, and makes none. */
  dryRun: (call: ProxyCall, options?: Options) => Promise<wire.DryRunReply>
  grants: (query?: wire.ListGrantsQuery, options?: Options) => Listing<wire.GrantPage, wire.Grant>
  /** Gives a grant back. */
  revokeGrant: (grantId: string, options?: Options) => Promise<wire.Grant>
  receipt: (grantId: string, options?: Options) => Promise<wire.Receipt>
  /** A grant for an upstream that answers with what it was sent: the whole way, without a person. */
  sandbox: (options?: Options) => Promise<wire.StartSandboxReply>
  providers: (query?: wire.ListProvidersQuery, options?: Options) => Listing<wire.ProviderPage, wire.Provider>
  proposeProvider: (proposal: wire.ProposeProviderBody, options?: Options) => Promise<wire.ProviderDetails>
  me: (options?: Options) => Promise<wire.Agent>
  /** Replaces the token. This client goes on with the new one, which is shown this once. */
  rotateToken: (options?: Options) => Promise<wire.RegisterAgentReply>
  audit: Audit
}

/**
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
  const accessRequest = (id: string, options?: Options) =>
    get<wire.AccessRequest>(`/v4/access-requests/${segment(id)}`, options)

  return {
    requestAccess: (wanted, options) => post('/v4/access-requests', wanted, options),
    accessRequest,
    cancelRequest: (id, options) => post(`/v4/access-requests/${segment(id)}/cancel`, {}, options),
    waitForGrant: (id, options) =>
      waitForGrant((signal, timeoutMs) => accessRequest(id, { signal, timeoutMs }), options),
    proxy: (call, { idempotencyKey, ...options } = {}) => {
      const timeoutMs = options.timeoutMs ?? proxyTimeoutMs(call, given)
      return transport.json(
        {
          method: 'POST',
          path: '/v4/proxy',
          body: call,
          rateWaitMs: timeoutMs,
          ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey }, isRepeatable: true }),
        },
        { ...options, timeoutMs },
      )
    },
    fetch: (grantId, options) => proxiedFetch(transport, grantId, options),
    dryRun: (call, options) => post('/v4/proxy', { ...call, dry_run: true }, options),
    grants: (query, options) => listing<wire.GrantPage, 'grants'>(transport, '/v4/grants', 'grants', query, options),
    revokeGrant: (id, options) => post(`/v4/grants/${segment(id)}/revoke`, {}, options),
    receipt: (id, options) => get(`/v4/grants/${segment(id)}/receipt`, options),
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

/** What the service allows the upstream, and some time to bring the answer. */
function proxyTimeoutMs({ timeout_ms: allowed = 60_000 }: ProxyCall, { timeoutMs }: ClientOptions): number {
  return Math.max(allowed + 10_000, timeoutMs ?? 0)
}
