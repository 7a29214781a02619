/** Decides whether a call may be made. Everything it depends on is read from the database now; nothing is written. */
import type { CallingAgent } from '../agents/agent.ts'
import { coversHost, readMethod } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { Standing } from '../grants/standing.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import { assertNotDenied, hasTerms } from '../grants/terms.ts'
import { assertUsable } from '../grants/usable.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { mustBeHashed } from './aws-call.ts'
import { bodyChecksFor, maxInspectedBytes, mustBeInspected } from './body-checks.ts'
import type { CallHead } from './body-checks.ts'
import type { Call, Known, ProxyInput } from './call.ts'
import { judgeUrl, recordedParts, shortened } from './destination.ts'
import { maxHeldBytes, tooLargeToHold } from './holding.ts'
import { outgoing } from './outgoing.ts'
import type { OutgoingRules } from './outgoing.ts'
import { assertHeadMayCall, verdictOn } from './policy.ts'
import type { Upload } from './upload.ts'
import type { Route } from './upstream.ts'

export interface JudgeNeeds {
  config: Pick<
    Config,
    'proxyFirstByteSeconds' | 'proxyCallSeconds' | 'proxyIdleSeconds' | 'toolFirstByteSeconds' | 'toolIdleSeconds'
  >
  database: Database
  standings: StandingStore
  routeOf: (standing: Standing) => Route
  clock: Clock
}

interface JudgeOptions {
  mayBeExhausted?: boolean
  queries?: Queries
  /** The access class of the call is wanted even if no term of the grant depends on it. */
  isClassified?: boolean
}

/** Streams have no overall timeout unless the caller gives one. This is the longest that a timer takes. */
const noTimeoutMs = 2 ** 31 - 1

/** Fills `known` as it goes, for the record of a refusal. */
export async function judge(
  needs: JudgeNeeds,
  { agent: { agentId }, tokenHash, keyHash }: CallingAgent,
  input: ProxyInput,
  requestId: string,
  known: Known,
  { mayBeExhausted = false, queries = needs.database.queries, isClassified = false }: JudgeOptions = {},
): Promise<Call> {
  const standing = await needs.standings.find(queries, agentId, input.grantId)
  if (!standing) throw new ServiceError('grant_not_found', { field: 'grant_id' })
  const { grant } = standing
  const now = needs.clock()
  known.standing = standing
  const ofGrant = needs.routeOf(standing)
  const method = readMethod(input.method, 'method')
  const destination = judgeUrl(input.url, ofGrant.plainOrigin, ofGrant.placed)
  const open = input.door && !coversHost(grant, destination.host) ? ofGrant.openAt?.(destination.host) : undefined
  const route = open ?? ofGrant
  const facts = { method, ...recordedParts(destination), ...(input.door && { door: input.door }) }
  const recorded = grant.kind === 'sandbox' ? shortened(facts) : facts
  known.facts = recorded
  const outgoingRules = { injects: route.injects.headers, ranges: rangesOf(route, input) }
  const { headers, dropped, body: given } = outgoing({ ...input, method }, outgoingRules)
  known.droppedHeaders = dropped
  // The agent was authenticated a moment ago.
  assertUsable({ ...standing, isTokenCurrent: true }, now, { mayBeExhausted })
  // Before the body is searched, which takes time.
  if (given && route.maxBodyBytes !== undefined && given.length > route.maxBodyBytes) {
    throw new ServiceError('body_too_large', { field: 'body' })
  }
  const head = { destination, method, headers, aws: input.aws, bodyLength: input.upload?.length }
  if (open && method !== 'GET' && method !== 'HEAD') throw new ServiceError('method_not_allowed', { field: 'method' })
  const { body, upload } = input.upload ? await readUpload(input.upload, head, standing.grant, route) : { body: given }
  const verdict = open
    ? undefined
    : verdictOn(grant, route.rules, { ...head, body }, { isClassified: isClassified || hasTerms(grant) })
  if (verdict) assertNotDenied((known.verdict = verdict), grant)
  const isHeld = verdict?.action === 'ask'
  const { isHandshake = false } = input
  if (isHeld && isHandshake) throw asksBeforeWebSocket()
  const stored = isHeld && upload ? await upload.whole(maxHeldBytes, tooLargeToHold()) : body
  // The caller's timeout replaces both our limits: for the whole call and for its first byte.
  const defaultMs = input.stream ? noTimeoutMs : needs.config.proxyCallSeconds * 1000
  return {
    agentId,
    isOpen: open !== undefined,
    tokenHash,
    keyHash,
    standing,
    route,
    auditId: newId('aud', now),
    requestId,
    method,
    destination,
    headers,
    droppedHeaders: dropped,
    body: stored,
    ...(upload && !isHeld && { upload }),
    aws: input.aws,
    facts: recorded,
    access: verdict?.access,
    asks: verdict?.action === 'ask' ? verdict.term : undefined,
    followsRedirects: input.followRedirects,
    isStreamed: input.stream,
    isHandshake,
    timeoutMs: input.timeoutMs ?? defaultMs,
    ...pausesOf(needs.config, input),
  }
}

/** An approved call is made once, apart from any connection, and its answer is kept. Messages have neither. */
function asksBeforeWebSocket(): ServiceError {
  const message =
    'The grant asks a person before this call, and a WebSocket can not be opened that way. Ask for a grant that allows it.'
  return new ServiceError('access_not_allowed', { field: 'method', message })
}

/** A tool waits as it would for the API itself. */
function pausesOf(config: JudgeNeeds['config'], { door, timeoutMs }: ProxyInput) {
  const [firstByteSeconds, idleSeconds] = door
    ? [config.toolFirstByteSeconds, config.toolIdleSeconds]
    : [config.proxyFirstByteSeconds, config.proxyIdleSeconds]
  return { firstByteMs: timeoutMs ?? firstByteSeconds * 1000, idleMs: idleSeconds * 1000 }
}

/**
 * A part of an answer may contain half of a credential, so ranges need the provider's consent. A signature is never sent
 * back. A tool that asks for a part and gets all of it would write a wrong file.
 */
function rangesOf({ rules }: Route, { door }: ProxyInput): OutgoingRules['ranges'] {
  if (rules?.allowRange || (door && rules?.signs)) return 'pass'
  return door ? 'refuse' : 'drop'
}

/**
 * Reads a streamed body if it has to be inspected, or hashed for a signature. Only then, and only for a call that is allowed
 * as far as its head says.
 */
async function readUpload(
  upload: Upload,
  head: CallHead,
  grant: Grant,
  { rules, maxBodyBytes }: Route,
): Promise<Pick<Call, 'body' | 'upload'>> {
  assertHeadMayCall(grant, rules, head)
  if (maxBodyBytes !== undefined) return { body: await upload.whole(maxBodyBytes) }
  const isKnownFirst =
    upload.length === 0 || mustBeInspected(bodyChecksFor(head, grant, rules)) || mustBeHashed(rules?.signs, head)
  if (isKnownFirst) return { body: await upload.whole(maxInspectedBytes) }
  upload.mayTakeLonger()
  return { body: undefined, upload }
}
