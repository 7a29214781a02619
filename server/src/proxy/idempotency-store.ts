import { sql } from 'kysely'
import { createHash, randomBytes } from 'node:crypto'
import type {} from '../agents/agent-store.ts'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { prepared } from '../platform/database/prepared.ts'
import { ServiceError } from '../platform/errors.ts'
import { setBounded } from '../platform/cache/memoize.ts'
import { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import { assertAnswered, assertSame, ofRetries } from './idempotency.ts'
import type { KeyedCall } from './idempotency.ts'
import type { Claimed, Once } from './once.ts'

interface Row {
  key_hash: string
  agent_id: string
  grant_id: string
  audit_id: string
  request_hash: string
  /** The process that makes the call. */
  instance_id: string
  /** Bytes that count against the agent's limit. */
  size: number
  answer: Uint8Array | null
  answer_key_id: string | null
  deadline: number
  ended_at: number | null
  expires_at: number
  /** The held call that the key is claimed for. Its answer is there. */
  held_call_id: string | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    keyed_calls: Row
  }
}

export const idempotentAnswer: SealedColumn = {
  table: 'keyed_calls',
  column: 'answer',
  rowColumn: 'key_hash',
  ownerColumn: 'agent_id',
}

export interface Idempotency {
  /**
   * In the transaction of the attempt. Throws `idempotency_conflict`, `conflict` (in flight), `outcome_unknown`, and
   * `rate_limited` if the agent has stored as much as it may.
   */
  claim: (tx: Queries, call: KeyedCall, now: Date) => Promise<Claimed>
  /** A call with a key, which is made at most once. */
  once: (call: KeyedCall) => Once
  /** For a held call that will certainly not be made: frees the keys that were claimed for it. */
  forgetHeld: (tx: Queries, callId: string) => Promise<void>
  /** The same for one that was denied. A tool that repeats it still reads that. */
  forgetDenied: (tx: Queries, callId: string) => Promise<void>
  /** For a held call whose tool has got the answer: from now on a call like it is a new one. */
  forgetRetries: (tx: Queries, callId: string) => Promise<void>
  /** Deletes a batch; returns how many. */
  dropExpired: (tx: Queries, now: Date) => Promise<number>
}

const retentionMs = 86_400_000
const maxAnswerBytes = 256 * 1024
const maxBytesPerAgent = 32 * 1024 * 1024
/** What a row without an answer counts for. */
const rowBytes = 256

export function createIdempotency(vault: Vault): Idempotency {
  const instanceId = randomBytes(9).toString('base64url')
  const running = new Set<string>()
  const shares = createShares()

  const claim: Idempotency['claim'] = async (tx, call, now) => {
    const keyHash = hashOf(call)
    const hasRoom = (await shares.used(tx, call.agentId, now)) + rowBytes <= maxBytesPerAgent
    const times = { deadline: call.deadline.getTime(), expiresAt: now.getTime() + retentionMs, now: now.getTime() }
    const heldCallId = call.heldCallId ?? null
    if (hasRoom && (await claimKey(tx, { ...call, ...times, keyHash, instanceId, heldCallId })).length > 0) {
      shares.add(call.agentId, rowBytes)
      if (heldCallId === null) running.add(call.auditId)
      return { kind: 'new' }
    }
    const [row] = await findKey(tx, { key_hash: keyHash })
    if (!row || row.expires_at <= now.getTime()) throw notClaimed(hasRoom)
    if (row.held_call_id !== null) {
      assertSame(row.request_hash, call.requestHash)
      return { kind: 'held', callId: row.held_call_id }
    }
    const { answer: bytes, answer_key_id: keyId } = row
    const place = { row: keyHash, owner: call.agentId }
    const earlier = {
      requestHash: row.request_hash,
      isEnded: row.ended_at !== null,
      isInFlight: row.ended_at === null && isInFlight(row, now),
      answer: bytes && keyId !== null ? await vault.open(tx, idempotentAnswer, place, { bytes, keyId }) : undefined,
    }
    return { kind: 'stored', envelope: Buffer.from(assertAnswered(earlier, call.requestHash).reveal()) }
  }

  const conclude = async (tx: Queries, call: KeyedCall, answer: Buffer | undefined, now: Date) => {
    const keyHash = hashOf(call)
    const isKept =
      answer !== undefined &&
      answer.length <= maxAnswerBytes &&
      (await shares.used(tx, call.agentId, now)) + answer.length <= maxBytesPerAgent
    const secret = isKept ? new Secret(answer.toString()) : undefined
    const place = { row: keyHash, owner: call.agentId }
    const sealed = secret && (await vault.seal(tx, idempotentAnswer, place, secret))
    await concludeKey(tx, {
      key_hash: keyHash,
      audit_id: call.auditId,
      answer: sealed?.bytes ?? null,
      answer_key_id: sealed?.keyId ?? null,
      size: rowBytes + (sealed?.bytes.length ?? 0),
      now: now.getTime(),
    })
    if (sealed) shares.add(call.agentId, sealed.bytes.length)
  }

  return {
    claim,

    once: (call) => ({
      claim: (tx, now) => claim(tx, call, now),
      conclude: (tx, answer, _seen, now) => conclude(tx, call, answer, now),
      // A call that was certainly never sent may be repeated with the same key.
      failed: (_error, isSent) => (isSent ? undefined : (tx) => forget(tx, call)),
      ended: () => {
        running.delete(call.auditId)
      },
    }),

    forgetHeld: async (tx, callId) => {
      await tx.deleteFrom('keyed_calls').where('held_call_id', '=', callId).execute()
    },

    forgetDenied: async (tx, callId) => {
      const all = tx.deleteFrom('keyed_calls').where('held_call_id', '=', callId)
      await all.where('request_hash', 'not like', `${ofRetries}%`).execute()
    },

    forgetRetries: async (tx, callId) => {
      const all = tx.deleteFrom('keyed_calls').where('held_call_id', '=', callId)
      await all.where('request_hash', 'like', `${ofRetries}%`).execute()
    },

    dropExpired: (tx, now) => deleteBatch(tx, 'keyed_calls', 'key_hash', sql`expires_at <= ${now.getTime()}`),
  }

  /** Another process is given until the deadline. For this one it is known whether the call is still running. */
  function isInFlight(row: Pick<Row, 'instance_id' | 'audit_id' | 'deadline'>, now: Date): boolean {
    return row.instance_id === instanceId ? running.has(row.audit_id) : row.deadline > now.getTime()
  }
}

async function forget(tx: Queries, call: KeyedCall): Promise<void> {
  const own = tx.deleteFrom('keyed_calls').where('key_hash', '=', hashOf(call))
  await own.where('audit_id', '=', call.auditId).execute()
}

/** The call is refused if its key can't be stored, since it could then be made twice. */
function notClaimed(hasRoom: boolean): ServiceError {
  const field = 'Idempotency-Key'
  // Its row was deleted at the same moment.
  if (hasRoom) return new ServiceError('conflict', { field, retryAfterSeconds: 1 })
  const message = 'Too many calls with an Idempotency-Key in the last 24 hours. Wait, or call without one.'
  return new ServiceError('rate_limited', { field, message, retryAfterSeconds: 600 })
}

/** A key is valid for one agent and grant only. */
function hashOf({ agentId, grantId, key }: KeyedCall): string {
  return createHash('sha256')
    .update(JSON.stringify([agentId, grantId, key]))
    .digest('base64url')
}

interface Claim extends Omit<KeyedCall, 'deadline' | 'heldCallId'> {
  keyHash: string
  instanceId: string
  deadline: number
  expiresAt: number
  now: number
  heldCallId: string | null
}

/** What an expired key's next claim replaces. */
const replaced = ['audit_id', 'request_hash', 'instance_id', 'size', 'deadline', 'expires_at', 'held_call_id'] as const

/** One conditional write, also if the key has expired: of several calls that race for it, one gets a row back. */
const claimKey = prepared<Claim, { key_hash: string }>(
  (queries, claim) =>
    queries
      .insertInto('keyed_calls')
      .values({
        key_hash: claim.keyHash,
        agent_id: claim.agentId,
        grant_id: claim.grantId,
        audit_id: claim.auditId,
        request_hash: claim.requestHash,
        instance_id: claim.instanceId,
        size: rowBytes,
        deadline: claim.deadline,
        expires_at: claim.expiresAt,
        held_call_id: claim.heldCallId,
      })
      .onConflict((conflict) =>
        conflict
          .column('key_hash')
          .doUpdateSet((eb) => ({
            ...Object.fromEntries(replaced.map((column) => [column, eb.ref(`excluded.${column}`)])),
            answer: null,
            answer_key_id: null,
            ended_at: null,
          }))
          .where('keyed_calls.expires_at', '<=', claim.now),
      )
      .returning('key_hash'),
  { leavesCachesValid: true },
)

const findKey = prepared((queries, { key_hash }: Pick<Row, 'key_hash'>) =>
  queries
    .selectFrom('keyed_calls')
    .select([
      'audit_id',
      'request_hash',
      'instance_id',
      'deadline',
      'ended_at',
      'expires_at',
      'answer',
      'answer_key_id',
      'held_call_id',
    ])
    .where('key_hash', '=', key_hash),
)

/** Only the call's own claim: the key may have expired and been claimed again meanwhile. */
const concludeKey = prepared<
  Pick<Row, 'key_hash' | 'audit_id' | 'size' | 'answer' | 'answer_key_id'> & { now: number },
  unknown
>(
  (queries, call) =>
    queries
      .updateTable('keyed_calls')
      .set({ answer: call.answer, answer_key_id: call.answer_key_id, size: call.size, ended_at: call.now })
      .where('key_hash', '=', call.key_hash)
      .where('audit_id', '=', call.audit_id),
  { leavesCachesValid: true },
)

const readAgainMs = 60_000

/**
 * How much each agent has stored. The sum is read once a minute, and this instance adds what it stores in between. A
 * sum for every call would take longer the more is stored, and a counter in the database would be a lock to wait for.
 */
function createShares() {
  const shares = new Map<string, { bytes: number; readAt: number }>()
  return {
    used: async (queries: Queries, agentId: string, now: Date): Promise<number> => {
      const known = shares.get(agentId)
      if (known && Math.abs(now.getTime() - known.readAt) < readAgainMs) return known.bytes
      const [sum] = await sumOf(queries, { agent_id: agentId })
      // PostgreSQL gives sums of 64-bit numbers as text.
      const bytes = Number(sum?.bytes ?? 0)
      setBounded(shares, agentId, { bytes, readAt: now.getTime() })
      return bytes
    },

    add: (agentId: string, bytes: number): void => {
      const known = shares.get(agentId)
      if (known) known.bytes += bytes
    },
  }
}

const sumOf = prepared<{ agent_id: string }, { bytes: number | string | null }>((queries, { agent_id }) =>
  queries
    .selectFrom('keyed_calls')
    .select((eb) => eb.fn.sum('size').as('bytes'))
    .where('agent_id', '=', agent_id),
)
