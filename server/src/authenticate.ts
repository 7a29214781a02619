/**
 * Identifies the caller by the bearer token or the session cookie. Every route under /v4 declares who may call it;
 * otherwise the service does not start. The credential is checked in the database before the body is read, again after
 * a body that was slow to arrive, and again, under a lock, in every transaction that acts for the caller.
 */
import { operatorHeader } from '@sallyport/protocol/operator-header'
import { sessionCookie } from '@sallyport/protocol/sessions'
import type { FastifyRequest } from 'fastify'
import { agentKey } from './agents/agent.ts'
import type { CallingAgent } from './agents/agent.ts'
import type { AgentStore } from './agents/agent-store.ts'
import type { Device } from './devices/device.ts'
import type { DeviceStore } from './devices/device-store.ts'
import type { Clock } from './platform/clock.ts'
import type { Config } from './config/config.ts'
import { adminTokensIn } from './platform/config/platform-settings.ts'
import type { Database, Queries } from './platform/database/database.ts'
import { ServiceError } from './platform/errors.ts'
import type { Http } from './platform/http/http.ts'
import { hasCookie, onlyCookie } from './platform/http/cookies.ts'
import { tunnelledOf } from './platform/http/tunnelled.ts'
import { Secret } from './platform/secret.ts'
import { hashToken, isSameHash, isWellFormedToken } from './platform/tokens.ts'
import { isForThisMachine } from './sessions/operator.ts'
import { isLastSeenOutdated, sessionEnds, statusOf } from './sessions/session.ts'
import type { Session } from './sessions/session.ts'
import type { SessionStore } from './sessions/session-store.ts'
import type { User } from './sessions/user.ts'
import type { UserStore } from './sessions/user-store.ts'
import type { IdentifyTool } from './tool-keys/identify.ts'
import type { CallingTool } from './tool-keys/tool-key.ts'

export type Actor =
  | ({ kind: 'agent' } & CallingAgent)
  | { kind: 'user'; user: User; session: Session }
  | { kind: 'device'; user: User; device: Device }
  /** Has a key that an agent made for its tools. */
  | ({ kind: 'tool' } & CallingTool)
  /** By the admin token, or by the session of a local operator. */
  | { kind: 'admin'; operator?: { user: User; session: Session } }
  /** Has the metrics token. */
  | { kind: 'collector' }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call. `anyone` needs no credential and ignores any. */
    allow?: 'anyone' | readonly Actor['kind'][]
    /** The call starts a session in the browser that makes it, so it is refused if it comes from another site. */
    startsSession?: boolean
    /** With `anyone`: callers of these kinds are identified, all others stay anonymous. */
    recognises?: readonly Actor['kind'][]
    /** The key is where the tool puts the upstream's credential: bearer, password or API key. No cookie is read. */
    takesToolCredential?: boolean
  }
  interface FastifyRequest {
    actor?: Actor
    /** For long responses: throws if the credential is no longer valid. */
    assertStillAdmitted: () => Promise<void>
    /** Throws unless the caller's credential is still valid, and locks it until the transaction ends. */
    holdCredential: (tx: Queries) => Promise<void>
    /** The body had not fully arrived when the caller was identified. */
    isBodyLate: boolean
  }
}

interface AuthenticateNeeds {
  config: Pick<Config, 'baseUrl' | 'host' | 'trustProxy' | 'sessionIdleSeconds' | 'metricsToken'>
  database: Database
  agents: AgentStore
  users: UserStore
  sessions: SessionStore
  devices: DeviceStore
  identifyTool: IdentifyTool
  adminToken: Secret
  clock: Clock
}

/** Hashes of tokens that are not in the database. */
type IdentifyNeeds = AuthenticateNeeds & { adminTokenHashes: Buffer[]; metricsTokenHash: Buffer | undefined }

export function authenticateCalls(http: Http, given: AuthenticateNeeds): void {
  const metricsToken = given.config.metricsToken.read()
  const needs = {
    ...given,
    adminTokenHashes: adminTokensIn(given.adminToken).map(hashToken),
    metricsTokenHash: metricsToken && hashToken(metricsToken),
  }
  http.addHook('onRoute', ({ url, config }) => {
    if (/^\/v\d/.test(url) && config?.allow === undefined) throw new Error(`${url} does not say whom it admits`)
  })
  http.decorateRequest('assertStillAdmitted', async function (this: FastifyRequest) {
    await identify(this, needs)
  })
  http.decorateRequest('holdCredential', async function (this: FastifyRequest, tx: Queries) {
    if (this.actor && !(await holdCredential(needs, tx, this.actor))) throw new ServiceError('unauthenticated')
  })
  http.decorateRequest('isBodyLate', false)
  http.addHook('onRequest', async (request) => {
    const { allow = 'anyone', startsSession = false, recognises = [] } = request.routeOptions.config
    if (startsSession)
      assertNotCrossSite(request, needs.config.baseUrl, { isBrowser: hasCookie(request, sessionCookie) })
    if (allow === 'anyone') {
      const actor = recognises.length > 0 ? await identify(request, needs).catch(nobody) : undefined
      if (actor && recognises.includes(actor.kind)) setActor(request, actor)
      return
    }
    const actor = await identify(request, needs)
    if (!allow.includes(actor.kind)) throw wrongCredential(allow, actor.kind)
    setActor(request, actor)
    request.isBodyLate = !request.raw.complete
  })
  // A sender may hold back the body until their session has ended or their token was replaced.
  http.addHook('preValidation', async (request) => {
    if (request.actor && request.isBodyLate) request.actor = await identify(request, needs)
  })
}

function setActor(request: FastifyRequest, actor: Actor): void {
  request.actor = actor
  request.callerKey = callerKey(actor)
  if (actor.kind === 'agent' || actor.kind === 'tool') request.loggedIds = { agent_id: actor.agent.agentId }
}

/** All sessions and devices of a user count as one caller, and so do an agent and its tools. */
function callerKey(actor: Actor): string {
  if (actor.kind === 'admin' || actor.kind === 'collector') return actor.kind
  return 'agent' in actor ? agentKey(actor.agent.agentId) : `user ${actor.user.userId}`
}

const credentialOf: Record<Actor['kind'], string> = {
  agent: 'an agent token',
  tool: 'a key for tools',
  user: "a user's session",
  device: "a device's session",
  admin: 'the admin token',
  collector: 'the metrics token',
}

/** Reveals nothing: callers know their own credential, and the reference says who may call. */
function wrongCredential(allow: readonly Actor['kind'][], came: Actor['kind']): ServiceError {
  const taken = allow.map((kind) => credentialOf[kind]).join(' or ')
  return new ServiceError('forbidden', { message: `This call requires ${taken}, not ${credentialOf[came]}.` })
}

export function actingAgent({ actor }: FastifyRequest): Extract<Actor, { kind: 'agent' }> {
  if (actor?.kind !== 'agent') throw new Error('the route does not admit agents alone')
  return actor
}

export function actingTool({ actor }: FastifyRequest): Extract<Actor, { kind: 'tool' }> {
  if (actor?.kind !== 'tool') throw new Error('the route does not admit tools alone')
  return actor
}

export function actingUser({ actor }: FastifyRequest): Extract<Actor, { kind: 'user' }> {
  if (actor?.kind !== 'user') throw new Error('the route does not admit users alone')
  return actor
}

export function actingDevice({ actor }: FastifyRequest): Extract<Actor, { kind: 'device' }> {
  if (actor?.kind !== 'device') throw new Error('the route does not admit devices alone')
  return actor
}

/** For routes that accept a user's session or device. */
export function actingPerson({ actor }: FastifyRequest): { user: User; device?: Device; session?: Session } {
  if (actor?.kind !== 'user' && actor?.kind !== 'device') {
    throw new Error('the route does not admit users and devices alone')
  }
  return actor
}

/**
 * For changes by a caller: returns the same needs, but each transaction first checks the caller's credential. A session
 * that ended or a token that was replaced meanwhile can't change anything.
 */
export function onBehalfOf<Needs extends { database: Database }>(request: FastifyRequest, needs: Needs): Needs {
  const { database } = needs
  const transaction: Database['transaction'] = (work, options) =>
    database.transaction(async (tx) => {
      await request.holdCredential(tx)
      return work(tx)
    }, options)
  return { ...needs, database: { ...database, transaction } }
}

/**
 * Everything that ends a session, a device or a user locks or writes the user's row, so that row is the lock for all
 * three.
 */
async function holdCredential(needs: AuthenticateNeeds, tx: Queries, actor: Actor): Promise<boolean> {
  const { config, database, agents, users, sessions, devices, clock } = needs
  if (actor.kind === 'admin') {
    return !actor.operator || holdCredential(needs, tx, { kind: 'user', ...actor.operator })
  }
  if (actor.kind === 'collector') return true
  if ('agent' in actor) return agents.lockWithToken(database, tx, actor.agent.agentId, actor.tokenHash)
  const { userId } = actor.user
  const user = await users.lock(database, tx, userId)
  if (!user || user.disabledAt) return false
  if (actor.kind === 'device') {
    return (await devices.findOfUser(tx, userId, actor.device.deviceId))?.revokedAt === null
  }
  const session = await sessions.findOfUser(tx, userId, actor.session.sessionId)
  return session !== undefined && statusOf(session, sessionEnds(config.sessionIdleSeconds, clock())) === 'active'
}

function nobody(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'unauthenticated') return undefined
  throw error
}

async function identify(request: FastifyRequest, needs: IdentifyNeeds): Promise<Actor> {
  const { authorization } = request.headers
  // Its headers are meant for another host.
  const tunnelled = tunnelledOf(request.raw)
  if (tunnelled) return byToolKey(tunnelled.keySecret, tunnelled.address, needs)
  if (request.routeOptions.config.takesToolCredential) {
    assertNoBrowser(request)
    return byToolKey(toolCredential(request), request.ip, needs)
  }
  // An invalid bearer token never falls back to the cookie.
  if (authorization !== undefined) return byBearer(authorization, request.ip, needs)
  const token = onlyCookie(request, sessionCookie)
  const actor = token === undefined ? undefined : await bySessionToken(token, needs)
  if (!actor) throw new ServiceError('unauthenticated')
  if (request.headers[operatorHeader] !== undefined) return asOperator(request, actor, needs)
  if (!['GET', 'HEAD'].includes(request.method)) assertNotCrossSite(request, needs.config.baseUrl, { isBrowser: true })
  return actor
}

/**
 * Only where the page asks for it, so that a user's request never becomes an admin's by itself. No other site can send
 * this header: a browser would have to be allowed to first, and nothing here allows it.
 */
function asOperator(request: FastifyRequest, actor: Actor, { config }: IdentifyNeeds): Actor {
  assertNotCrossSite(request, config.baseUrl, { isBrowser: true })
  if (actor.kind === 'user' && actor.session.isOperator && isForThisMachine(config)) {
    return { kind: 'admin', operator: { user: actor.user, session: actor.session } }
  }
  throw new ServiceError('forbidden', { message: 'This session is not the operator’s. Use the admin token.' })
}

async function byBearer(authorization: string, address: string, needs: IdentifyNeeds): Promise<Actor> {
  const token = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization)?.[1]
  if (token === undefined) throw new ServiceError('unauthenticated')
  const tokenHash = hashToken(new Secret(token))
  if (needs.adminTokenHashes.some((hash) => isSameHash(tokenHash, hash))) return { kind: 'admin' }
  if (needs.metricsTokenHash && isSameHash(tokenHash, needs.metricsTokenHash)) return { kind: 'collector' }
  if (isWellFormedToken('key', token)) return byToolKey(new Secret(token), address, needs)
  const actor = isWellFormedToken('agent', token)
    ? await byAgentToken(tokenHash, address, needs)
    : isWellFormedToken('device', token)
      ? await byDeviceToken(tokenHash, needs)
      : await bySessionToken(token, needs)
  if (!actor) throw new ServiceError('unauthenticated')
  return actor
}

/** Answers come from the origin of the console: no browser gets one, whoever wrote the page that is open in it. */
function assertNoBrowser(request: FastifyRequest): void {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'service-worker': worker } = request.headers
  const isBrowser = [origin, site, worker].some((value) => value !== undefined) || mode === 'navigate'
  if (isBrowser || hasCookie(request, sessionCookie)) {
    throw new ServiceError('forbidden', { message: 'This address is for tools. It can not be opened in a browser.' })
  }
}

/** Where the tools of most APIs put a token. Never in the query, which ends up in logs. */
function toolCredential({ headers: { authorization = '', 'x-api-key': apiKey } }: FastifyRequest): Secret | undefined {
  const [, scheme = '', credential = ''] = /^(bearer|basic|token) ([\x21-\x7e]+)$/i.exec(authorization) ?? []
  if (scheme === '') return typeof apiKey === 'string' && authorization === '' ? new Secret(apiKey) : undefined
  if (scheme.toLowerCase() !== 'basic') return new Secret(credential)
  const [, ...password] = Buffer.from(credential, 'base64').toString('latin1').split(':')
  return new Secret(password.join(':'))
}

async function byToolKey(
  secret: Secret | undefined,
  address: string | undefined,
  needs: IdentifyNeeds,
): Promise<Actor> {
  const tool = secret && (await needs.identifyTool(secret, address))
  if (!tool) throw new ServiceError('unauthenticated')
  return { kind: 'tool', ...tool }
}

async function byAgentToken(
  tokenHash: Buffer,
  address: string,
  { database, agents }: AuthenticateNeeds,
): Promise<Extract<Actor, { kind: 'agent' }> | undefined> {
  const agent = await agents.findByTokenHash(database.queries, tokenHash)
  return agent && !agent.disabledAt ? { kind: 'agent', agent, tokenHash, address } : undefined
}

/**
 * A device's session lasts until it is revoked. It is accepted only as a bearer token, which browsers never send by
 * themselves.
 */
async function byDeviceToken(
  tokenHash: Buffer,
  { database, devices, clock }: AuthenticateNeeds,
): Promise<Actor | undefined> {
  const found = await devices.findByTokenHash(database.queries, tokenHash)
  if (!found || found.device.revokedAt || found.user.disabledAt) return undefined
  const now = clock()
  if (isLastSeenOutdated(found.device, now)) await devices.markSeen(database.queries, found.device.deviceId, now)
  return { kind: 'device', ...found }
}

async function bySessionToken(token: string, needs: AuthenticateNeeds): Promise<Actor | undefined> {
  if (!isWellFormedToken('session', token)) return undefined
  const { config, database, sessions, clock } = needs
  const found = await sessions.findByTokenHash(database.queries, hashToken(new Secret(token)))
  const now = clock()
  if (
    !found ||
    found.user.disabledAt ||
    statusOf(found.session, sessionEnds(config.sessionIdleSeconds, now)) !== 'active'
  )
    return undefined
  if (isLastSeenOutdated(found.session, now)) await sessions.markSeen(database.queries, found.session.sessionId, now)
  return { kind: 'user', ...found }
}

/**
 * Browsers say which site a request comes from. A client that doesn't is not a browser and sends no cookies by itself.
 */
function assertNotCrossSite({ headers }: FastifyRequest, baseUrl: URL, { isBrowser }: { isBrowser: boolean }): void {
  const site = headers['sec-fetch-site']
  if (headers.origin === baseUrl.origin || site === 'same-origin') return
  if (!isBrowser && headers.origin === undefined && site === undefined) return
  throw new ServiceError('cross_site_request')
}
