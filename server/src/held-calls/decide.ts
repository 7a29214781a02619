/**
 * A person's decision on a held call. The user's row and the call's are locked first, so that of any number of decisions
 * one wins. An approval judges the whole call again: what is approved is exactly what would be sent now.
 */
import { callMessage } from '@sallyport/protocol/approval-message'
import type { Verdict } from '@sallyport/protocol/approval-message'
import type { AgentStore } from '../agents/agent-store.ts'
import type { Challenge, Signed } from '../devices/challenge.ts'
import type { Device } from '../devices/device.ts'
import { issueChallenge } from '../devices/issue-challenge.ts'
import type { IssueChallengeNeeds } from '../devices/issue-challenge.ts'
import { judgeSigned } from '../devices/judge-signed.ts'
import type { Decider, Signature } from '../devices/judge-signed.ts'
import type { TakeSignatureNeeds } from '../devices/take-signature.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { judge } from '../proxy/judge.ts'
import type { JudgeNeeds } from '../proxy/judge.ts'
import type { User } from '../sessions/user.ts'
import { decisionHash, repeatHash } from './describe-call.ts'
import { assertWaiting, bounds } from './held-call.ts'
import type { Decision, HeldCall, Shown } from './held-call.ts'
import { dropPushesWithoutCalls } from './notify.ts'
import { recordCall } from './record.ts'
import type { RepeatStore } from './repeat-store.ts'
import { assertIsDecided, inputOf } from './run.ts'
import type { Runner } from './run.ts'
import type { SettleNeeds } from './settle.ts'

export interface DecideCallNeeds extends SettleNeeds, TakeSignatureNeeds, JudgeNeeds {
  database: SettleNeeds['database']
  agents: AgentStore
  repeats: RepeatStore
  runner: Runner
}

export interface CallVerdict {
  verdict: Verdict
  /** As it was shown. */
  digest: string | undefined
  repeatForSeconds: number | null
  /** To the agent, of a denial. */
  reason: string | null
  signed: Signed | undefined
  /** Decided together with others, by their digests. */
  isOneOfSeveral: boolean
}

export async function challengeOnCall(
  needs: Pick<DecideCallNeeds, 'heldCallStore'> & IssueChallengeNeeds,
  { user, device }: { user: User; device: Device },
  callId: string,
  repeatForSeconds: number | null,
): Promise<Challenge> {
  const { database, heldCallStore, clock } = needs
  const call = await heldCallStore.find(database.queries, callId, clock())
  if (call?.userId !== user.userId) throw new ServiceError('not_found')
  assertWaiting(call)
  const shown = await heldCallStore.openShown(database.queries, call)
  assertMayRepeat(shown, repeatForSeconds)
  // Only the hash is stored: the description quotes the URL and the headers.
  return issueChallenge(needs, device, callId, decisionHash(shown.description, repeatForSeconds))
}

export async function decideCall(
  needs: DecideCallNeeds,
  decider: Decider,
  callId: string,
  given: CallVerdict,
  requestId: string,
): Promise<HeldCall> {
  const { database, heldCallStore, heldMetrics, waiting, runner, clock } = needs
  const { verdict } = given
  const decided = await database.transaction(async (tx) => {
    const now = clock()
    const { call, user } = await lockWaiting(needs, tx, decider, callId, now)
    if (given.digest !== undefined && given.digest !== call.digest) throw changedSince()
    if (given.isOneOfSeveral && verdict === 'approve' && call.access === 'destructive') throw onlyByItself()
    const shown = await heldCallStore.openShown(tx, call)
    assertMayRepeat(shown, given.repeatForSeconds)
    const signature = await signatureOn(needs, tx, decider, callId, given)
    assertCovers(signature, shown, given.repeatForSeconds)
    if (verdict === 'approve') {
      if (!signature && user.requiresDevice) throw new ServiceError('device_signature_required')
      await judgeAgain(needs, tx, call, requestId)
    }
    const decision = decisionOf(given, signature)
    if (!(await heldCallStore.decide(tx, call, { decision, reason: given.reason }, now))) {
      throw new ServiceError('call_not_waiting')
    }
    if (verdict === 'deny') await needs.idempotency.forgetDenied(tx, callId)
    else await keepRepeat(needs, tx, call, shown, given.repeatForSeconds, now)
    await dropPushesWithoutCalls(needs, tx, user.userId, now)
    const event = verdict === 'approve' ? 'proxy.approved' : 'proxy.denied'
    await recordCall(needs, tx, call, { event, now, requestId, detail: detailOf(call, decision) })
    return (await heldCallStore.find(tx, callId, now)) ?? call
  })
  heldMetrics.onEvent(verdict === 'approve' ? 'approved' : 'denied')
  if (verdict === 'approve') runner.start(callId)
  else waiting.tell(callId)
  return decided
}

async function lockWaiting(
  { database, users, heldCallStore }: DecideCallNeeds,
  tx: Queries,
  decider: Decider,
  callId: string,
  now: Date,
): Promise<{ call: HeldCall; user: User }> {
  const user = await users.lock(database, tx, decider.user.userId)
  if (!user || user.disabledAt) throw new ServiceError('unauthenticated')
  const call = await heldCallStore.lock(database, tx, callId, now)
  if (call?.userId !== user.userId) throw new ServiceError('not_found')
  assertWaiting(call)
  return { call, user }
}

function signatureOn(
  needs: DecideCallNeeds,
  tx: Queries,
  decider: Decider,
  callId: string,
  { verdict, signed }: CallVerdict,
): Promise<Signature | undefined> {
  const message = ({ challengeId, nonce }: Challenge) => callMessage(challengeId, nonce, callId, verdict)
  return judgeSigned(needs, tx, decider, { subject: callId, message }, signed)
}

/** The device signed exactly this call, and for how long the approval repeats. */
function assertCovers(signature: Signature | undefined, { description }: Shown, repeatForSeconds: number | null): void {
  if (!signature) return
  const covered = Buffer.from(signature.challenge.nonce, 'base64url').subarray(32)
  if (!covered.equals(decisionHash(description, repeatForSeconds))) throw new ServiceError('decision_mismatch')
}

/** Throws unless the call may be made now, once it is approved, and is still what was shown. */
async function judgeAgain(needs: DecideCallNeeds, tx: Queries, held: HeldCall, requestId: string): Promise<void> {
  const { agents, heldCallStore, grants } = needs
  const agent = await agents.find(tx, held.agentId)
  const request = await heldCallStore.openRequest(tx, held)
  if (!agent || !request) throw new ServiceError('call_not_waiting')
  const caller = { agent, tokenHash: held.tokenHash, address: undefined }
  const call = await judge(needs, caller, inputOf(held, request), requestId, {}, { queries: tx })
  await assertIsDecided(grants, tx, held, call)
}

async function keepRepeat(
  { repeats }: DecideCallNeeds,
  tx: Queries,
  { callId, agentId, userId, grantId }: HeldCall,
  { description, repeatScope: scope }: Shown,
  seconds: number | null,
  now: Date,
): Promise<void> {
  if (seconds === null || scope === null) return
  const { method } = description
  const url = description.url.replace(/\?.*/s, '')
  const expiresAt = new Date(now.getTime() + seconds * 1000)
  const ids = { repeatId: newId('rep', now), callId, agentId, userId, grantId }
  const repeat = { ...ids, shown: { method, url, scope }, callsLeft: bounds.callsOfRepeat, createdAt: now, expiresAt }
  await repeats.insert(tx, repeat, repeatHash(description, scope))
}

function decisionOf({ verdict, repeatForSeconds }: CallVerdict, signature: Signature | undefined): Decision {
  return {
    verdict,
    repeat_for_seconds: repeatForSeconds,
    signing_input: signature?.message ?? null,
    signature: signature?.signature ?? null,
    challenge: signature ? { challenge_id: signature.challengeId, nonce: signature.challenge.nonce } : null,
    device: signature?.device.publicKey
      ? { device_id: signature.device.deviceId, public_key_jwk: signature.device.publicKey }
      : null,
  }
}

function detailOf({ digest, access }: HeldCall, { device, signature, challenge, repeat_for_seconds }: Decision) {
  return {
    ...{ access, digest, device_id: device?.device_id ?? null },
    ...(challenge && { challenge_id: challenge.challenge_id, nonce: challenge.nonce, signature }),
    ...(repeat_for_seconds !== null && { repeat_for_seconds }),
  }
}

function assertMayRepeat({ repeatScope }: Shown, seconds: number | null): void {
  if (seconds === null || repeatScope !== null) return
  const message = 'Calls like this one have to be approved each on its own. Omit "repeat_for_seconds".'
  throw new ServiceError('invalid_field', { field: 'repeat_for_seconds', message })
}

function changedSince(): ServiceError {
  const message = 'This is not the digest of the call. Read the call again, and decide on what it shows.'
  return new ServiceError('decision_mismatch', { field: 'digest', message })
}

function onlyByItself(): ServiceError {
  const message = 'A destructive call is approved on its own, not together with others.'
  return new ServiceError('invalid_field', { field: 'call_id', message })
}
