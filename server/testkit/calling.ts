/** A service with a connection, an agent with a grant on it, and a TLS upstream that responds as the test says. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { streamedCallType } from '@sallyport/protocol/streamed-call'
import { createConnectionStore } from '../src/connections/connection-store.ts'
import type { Grant } from '../src/grants/grant.ts'
import type { Engine } from '../src/platform/database/database.ts'
import type { Lookup } from '../src/platform/egress/resolver.ts'
import { newId } from '../src/platform/ids.ts'
import { Secret } from '../src/platform/secret.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { recorded } from './audit.ts'
import type { RecordedEvent } from './audit.ts'
import { sharedAuthority } from './certificates.ts'
import type { FixedClock } from './clock.ts'
import { startConnectionTest } from './connections.ts'
import type { ConnectionTest } from './connections.ts'
import { insertGrant } from './grants.ts'
import type { OAuthServerOptions } from './oauth-server.ts'
import { acme, client } from './providers.ts'
import { startService } from './service.ts'
import type { Reply, TestService } from './service.ts'
import { startTlsUpstream } from './tls-upstream.ts'
import type { AnswerHandshake, Listening } from './tls-upstream.ts'

export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
}

export type Answer = (response: ServerResponse, request: Received) => void

export interface TestUpstream extends Listening {
  /** `localhost:PORT`, as in a grant. */
  host: string
  url: string
  received: Received[]
}

export interface CallingOptions {
  answer?: Answer
  /** Instead of `answer`, with a body that was not read. */
  unread?: RequestListener | undefined
  /** Takes WebSocket handshakes. */
  onHandshake?: AnswerHandshake
  settings?: Environment
  /** Members of the provider. */
  provider?: object
  terms?: Partial<Grant>
  lookup?: Lookup
  clock?: FixedClock
  /** Changes the app before the first call. */
  prepare?: (app: TestService['app']) => void
}

export interface Calling {
  service: TestService
  upstream: TestUpstream
  agent: { agentId: string; token: string }
  userId: string
  providerId: string
  connectionId: string
  grantId: string
  /** A GET of the upstream, unless the members say otherwise. */
  proxy: (members?: object) => Promise<Reply>
  /** The same with `"stream": true`, over a socket. */
  open: (members?: object, headers?: Record<string, string>) => Promise<ClientRequest>
  /** A POST whose body is streamed. The test sends it. */
  upload: (members?: object, headers?: Record<string, string>) => Promise<ClientRequest>
  /** Resolves with the head of the response. */
  stream: (members?: object, headers?: Record<string, string>) => Promise<Streamed>
  /** The records of calls, once each of them has its outcome. */
  records: () => Promise<RecordedEvent[]>
}

export interface Streamed {
  status: number
  answer: IncomingMessage
  request: ClientRequest
}

/** The token of a connection that was made in the store: the upstream gets it, and no response may contain it. */
export const accessToken = 'gho_Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl'

/** The client went away before its body had arrived. */
const gone = () => undefined

export async function startUpstream(
  t: Pick<TestContext, 'after'>,
  answer: Answer = (response) => response.setHeader('content-type', 'application/json').end('{"ok":true}'),
  unread?: RequestListener,
  onHandshake?: AnswerHandshake,
): Promise<TestUpstream> {
  const certificate = await (
    await sharedAuthority()
  ).issue({ names: ['localhost', '*.example.com', '*.myshopify.com'] })
  const received: Received[] = []
  const answerRequest: RequestListener = (request, response) => {
    const { method = '', url: path = '', headers } = request
    response.on('error', () => undefined)
    if (unread) {
      received.push({ method, path, headers, body: '' })
      unread(request, response)
      return
    }
    void buffer(request).then((body) => {
      const one = { method, path, headers, body: body.toString() }
      received.push(one)
      answer(response, one)
    }, gone)
  }
  const listening = await startTlsUpstream(t, certificate, answerRequest, { onHandshake })
  const host = `localhost:${listening.port}`
  return { ...listening, host, url: `https://${host}/things`, received }
}

/** The connection is made in the store: it has a token, and no provider that could refresh it. */
export async function startCalling(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  { answer, unread, onHandshake, settings, provider, terms, lookup, clock, prepare }: CallingOptions = {},
): Promise<Calling> {
  const upstream = await startUpstream(t, answer, unread, onHandshake)
  const clients = endingClients(t)
  const reached = { SALLYPORT_EGRESS_ALLOW: upstream.host, SALLYPORT_EGRESS_CA_FILE: (await sharedAuthority()).caFile }
  const service = await startService(t, engine, { ...reached, ...settings }, clock, lookup, prepare)
  const body = { ...acme, ...client, slug: 'acme', api_hosts: [upstream.host], ...provider }
  const { provider_id: providerId } = made(
    await service.call('POST', '/v4/providers', { token: service.adminToken, body }),
  )
  const { userId } = await service.logIn({ email: 'ada@example.com' })
  const connectionId = await insertConnection(service, userId, providerId)
  return callingOn(service, { upstream, clients, userId, providerId, connectionId, terms: terms ?? {} })
}

/** The connection is made at a real authorization server, which can refresh its tokens. */
export async function startOAuthCalling(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  {
    answer,
    settings,
    provider,
    terms,
    oauth,
  }: Omit<CallingOptions, 'lookup' | 'clock' | 'prepare'> & { oauth?: OAuthServerOptions } = {},
): Promise<Calling & { service: ConnectionTest }> {
  const upstream = await startUpstream(t, answer)
  const clients = endingClients(t)
  const service = await startConnectionTest(t, engine, {
    hosts: [upstream.host],
    provider: { api_hosts: [upstream.host], ...provider },
    ...(settings && { settings }),
    ...(oauth && { oauth }),
  })
  const { providerId, user } = service
  const connectionId = await service.connect()
  const on = { upstream, clients, userId: user.userId, providerId, connectionId, terms: terms ?? {} }
  return { ...(await callingOn(service, on)), service }
}

export async function insertConnection({ vault, database, clock }: TestService, userId: string, providerId: string) {
  const now = clock.now()
  const connection = {
    ...{
      connectionId: newId('con', now),
      userId,
      providerId,
      authMethod: 'oauth2',
      accountId: userId,
      accountLabel: null,
      apiHost: null,
    },
    ...{ status: 'active' as const, scopes: [], expiresAt: null, obtainedAt: now, isRefreshed: false, version: 1 },
    ...{ canRefresh: false, refreshLeaseUntil: null, createdAt: now, lastUsedAt: null, revokedAt: null },
    remoteRevocation: null,
  }
  const tokens = { accessToken: new Secret(accessToken), refreshToken: undefined, expiresAt: null, obtainedAt: now }
  await createConnectionStore(vault).insert(database.queries, connection, tokens)
  return connection.connectionId
}

async function callingOn(
  service: TestService,
  on: Pick<Calling, 'upstream' | 'userId' | 'providerId' | 'connectionId'> & {
    terms: Partial<Grant>
    clients: Set<ClientRequest>
  },
): Promise<Calling> {
  const { upstream, userId, providerId, connectionId, terms, clients } = on
  const agent = await service.registerAgent()
  const places = { agentId: agent.agentId, userId, connectionId, allowedHosts: [upstream.host] }
  const { grantId } = await insertGrant(service, { ...places, ...terms })
  const { token } = agent
  const bodyOf = (members: object) => ({ grant_id: grantId, method: 'GET', url: upstream.url, ...members })
  const post = async (more: Record<string, string>): Promise<ClientRequest> => {
    const { http } = service.app
    if (!http.server.listening) await http.listen({ host: '127.0.0.1', port: 0 })
    const { port } = http.server.address() as AddressInfo
    const headers = { host: service.config.baseUrl.host, authorization: `Bearer ${token}` }
    const request = httpRequest({
      ...{ host: '127.0.0.1', port, path: '/v4/proxy', method: 'POST', agent: false },
      headers: { ...headers, 'content-type': 'application/json', ...more },
    })
    clients.add(request)
    return request
  }
  const open: Calling['open'] = async (members = {}, more = {}) =>
    (await post(more)).end(JSON.stringify(bodyOf({ stream: true, ...members })))
  return {
    ...{ service, upstream, agent, userId, providerId, connectionId, grantId },
    proxy: (members = {}) => service.call('POST', '/v4/proxy', { token, body: bodyOf(members) }),
    open,
    upload: async (members = {}, more = {}) => {
      const request = await post({ 'content-type': streamedCallType, ...more })
      // An answer before the end of the body may end the connection.
      request.on('error', () => undefined)
      request.write(`${JSON.stringify(bodyOf({ method: 'POST', ...members }))}\n`)
      return request
    },
    stream: async (members, headers) => {
      const request = await open(members, headers)
      const [answer] = (await once(request, 'response')) as [IncomingMessage]
      // If the service disconnects, the test sees that as an error of the response.
      request.on('error', () => undefined)
      return { status: answer.statusCode ?? 0, answer, request }
    },
    records: async () => {
      for (let tries = 0; ; tries++) {
        const records = await recorded(service, 'proxy.')
        const idsOf = (event: string) => records.filter((one) => one.event === event).map(({ audit_id }) => audit_id)
        const ended = new Set(idsOf('proxy.outcome'))
        if (idsOf('proxy.attempt').every((id) => ended.has(id))) return records
        if (tries === 200) throw new Error(`a call has no outcome: ${JSON.stringify(records)}`)
        await sleep(25)
      }
    },
  }
}

/** Closes them before the service stops, which would wait for them. */
function endingClients(t: Pick<TestContext, 'after'>): Set<ClientRequest> {
  const clients = new Set<ClientRequest>()
  t.after(() => {
    for (const one of clients) one.destroy()
  })
  return clients
}

/** Fails after a while instead of waiting forever: long enough for a machine that is busy with something else. */
export async function soon<T>(happens: Promise<T>): Promise<T> {
  const never = Promise.withResolvers<never>()
  const timer = setTimeout(never.reject, 60_000, new Error('it never happened'))
  return Promise.race([happens, never.promise]).finally(() => {
    clearTimeout(timer)
  })
}

function made({ status, text, body }: Reply): { provider_id: string } {
  if (status !== 201) throw new Error(text)
  return body as { provider_id: string }
}
