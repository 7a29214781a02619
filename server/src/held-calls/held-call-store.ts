import { sql } from 'kysely'
import type { CallStatus } from '@sallyport/protocol/calls'
import { deleteBatch, rowsPerBatch } from '../platform/database/batches.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import { deniedForMs, responseMs, retentionMs, startWithinMs, undecidedRetentionMs } from './held-call.ts'
import type { CallError, Decision, HeldCall, HeldRequest, Shown } from './held-call.ts'
import { calls, columns, statusNow, toHeldCall, writtenAs } from './held-call-row-store.ts'

const sealedIn = (column: string): SealedColumn => {
  return { table: 'held_calls', column, rowColumn: 'call_id', ownerColumn: 'agent_id' }
}
export const heldRequest = sealedIn('request')
export const heldShown = sealedIn('shown')
export const heldResponse = sealedIn('response')

type Owner = { agentId: string } | { userId: string }
type Ended = Extract<CallStatus, 'denied' | 'expired' | 'cancelled' | 'done' | 'unknown'>

/** A call that ends loses its request: it is not sent any more. */
const withoutRequest = { request: null, request_key_id: null, size: 0 } as const

export function createHeldCallStore(vault: Vault) {
  const seal = (tx: Queries, column: SealedColumn, call: Place, text: string) =>
    vault.seal(tx, column, { row: call.callId, owner: call.agentId }, new Secret(text))
  const open = async (
    queries: Queries,
    column: SealedColumn,
    { callId, agentId }: Place,
  ): Promise<Secret | undefined> => {
    const name = column.column as 'request' | 'shown' | 'response'
    const row = await queries
      .selectFrom('held_calls')
      .select([`${name} as bytes`, `${name}_key_id as keyId`])
      .where('call_id', '=', callId)
      .executeTakeFirst()
    if (!row?.bytes || row.keyId === null) return undefined
    return vault.open(queries, column, { row: callId, owner: agentId }, { bytes: row.bytes, keyId: row.keyId })
  }
  const parse = (secret: Secret | undefined): unknown => (secret ? JSON.parse(secret.reveal()) : undefined)

  return {
    insert: async (tx: Queries, call: HeldCall, request: HeldRequest, shown: Shown): Promise<void> => {
      const sealedRequest = await seal(tx, heldRequest, call, JSON.stringify(request))
      const sealedShown = await seal(tx, heldShown, call, JSON.stringify(shown))
      await tx
        .insertInto('held_calls')
        .values({
          call_id: call.callId,
          agent_id: call.agentId,
          user_id: call.userId,
          grant_id: call.grantId,
          token_hash: call.tokenHash,
          digest: call.digest,
          access: call.access,
          term: call.term,
          status: call.status,
          request: sealedRequest.bytes,
          request_key_id: sealedRequest.keyId,
          shown: sealedShown.bytes,
          shown_key_id: sealedShown.keyId,
          size: sealedRequest.bytes.length,
          created_at: call.createdAt.getTime(),
          expires_at: call.expiresAt.getTime(),
          is_sent: 0,
        })
        .execute()
    },

    find: async (queries: Queries, callId: string, now: Date): Promise<HeldCall | undefined> => {
      const row = await calls(queries)
        .select(columns)
        .select(statusNow(now).as('status_now'))
        .where('held_calls.call_id', '=', callId)
        .executeTakeFirst()
      return row && toHeldCall(row)
    },

    /** The same, locked until the transaction ends, so that decisions on one call run one at a time. */
    lock: async ({ engine }: Database, tx: Queries, callId: string, now: Date): Promise<HeldCall | undefined> => {
      const row = await calls(tx)
        .select(columns)
        .select(statusNow(now).as('status_now'))
        .where('held_calls.call_id', '=', callId)
        .$if(engine === 'postgres', (query) => query.forUpdate('held_calls'))
        .executeTakeFirst()
      return row && toHeldCall(row)
    },

    list: async (
      queries: Queries,
      owner: Owner,
      { status, before, limit }: PageRequest<CallStatus>,
      now: Date,
    ): Promise<Page<HeldCall>> => {
      const rows = await calls(queries)
        .select(columns)
        .select(statusNow(now).as('status_now'))
        .where((eb) =>
          'agentId' in owner
            ? eb('held_calls.agent_id', '=', owner.agentId)
            : eb('held_calls.user_id', '=', owner.userId),
        )
        .$if(status !== undefined, (query) =>
          query
            .where('held_calls.status', 'in', writtenAs[status ?? 'waiting'])
            .where(sql<boolean>`${statusNow(now)} = ${status}`),
        )
        .$if(before !== undefined, (query) => query.where('held_calls.call_id', '<', before ?? ''))
        .orderBy('held_calls.call_id', 'desc')
        .limit(limit + 1)
        .execute()
      return pageOf(rows.map(toHeldCall), limit, ({ callId }) => callId)
    },

    /** The identical call of this agent that waits now. */
    findIdentical: async (
      tx: Queries,
      { agentId, digest, tokenHash }: Pick<HeldCall, 'agentId' | 'digest' | 'tokenHash'>,
      now: Date,
    ): Promise<{ callId: string; expiresAt: Date } | undefined> => {
      const row = await tx
        .selectFrom('held_calls')
        .select(['call_id', 'expires_at'])
        .where('agent_id', '=', agentId)
        .where('digest', '=', digest)
        .where('status', '=', 'waiting')
        .where('expires_at', '>', now.getTime())
        .where('token_hash', '=', tokenHash)
        .limit(1)
        .executeTakeFirst()
      return row && { callId: row.call_id, expiresAt: new Date(row.expires_at) }
    },

    /** Whether the identical call of this agent was denied a short while ago. */
    wasDenied: async (tx: Queries, { agentId, digest }: Pick<HeldCall, 'agentId' | 'digest'>, now: Date) => {
      const row = await tx
        .selectFrom('held_calls')
        .select('call_id')
        .where('agent_id', '=', agentId)
        .where('digest', '=', digest)
        .where('status', '=', 'denied')
        .where('decided_at', '>', now.getTime() - deniedForMs)
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },

    countWaiting: async (tx: Queries, owner: Owner, now: Date): Promise<number> => {
      const { count } = await calls(tx)
        .select((eb) => eb.fn.countAll<number | string>().as('count'))
        .where((eb) =>
          'agentId' in owner
            ? eb('held_calls.agent_id', '=', owner.agentId)
            : eb('held_calls.user_id', '=', owner.userId),
        )
        .where('held_calls.status', '=', 'waiting')
        .where(sql<boolean>`${statusNow(now)} = 'waiting'`)
        .executeTakeFirstOrThrow()
      return Number(count)
    },

    /** Of sealed requests and responses. */
    bytesOf: async (tx: Queries, agentId: string): Promise<number> => {
      const row = await tx
        .selectFrom('held_calls')
        .select((eb) => eb.fn.sum<number | string | null>('size').as('bytes'))
        .where('agent_id', '=', agentId)
        .where('size', '>', 0)
        .executeTakeFirst()
      return Number(row?.bytes ?? 0)
    },

    countAllWaiting: async (queries: Queries, now: Date, most: number): Promise<number> => {
      const rows = await calls(queries)
        .select('held_calls.call_id')
        .where('held_calls.status', '=', 'waiting')
        .where(sql<boolean>`${statusNow(now)} = 'waiting'`)
        .limit(most)
        .execute()
      return rows.length
    },

    /** One conditional write: of several decisions, one gets true. */
    decide: async (
      tx: Queries,
      { callId, userId }: Pick<HeldCall, 'callId' | 'userId'>,
      { decision, reason }: { decision: Decision; reason: string | null },
      now: Date,
    ): Promise<boolean> => {
      const isApproval = decision.verdict === 'approve'
      const row = await tx
        .updateTable('held_calls')
        .set({
          status: isApproval ? 'approved' : 'denied',
          decided_at: now.getTime(),
          decided_by: userId,
          decision: JSON.stringify(decision),
          denial_reason: reason,
          ...(!isApproval && { ...withoutRequest, ended_at: now.getTime() }),
        })
        .where('call_id', '=', callId)
        .where('status', '=', 'waiting')
        .where('expires_at', '>', now.getTime())
        .returning('call_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** In the transaction of the attempt. Of several that start the same call, one gets true. */
    start: async (
      tx: Queries,
      { callId, auditId, deadline }: { callId: string; auditId: string; deadline: Date },
      now: Date,
    ): Promise<boolean> => {
      const row = await tx
        .updateTable('held_calls')
        .set({ status: 'running', audit_id: auditId, deadline: deadline.getTime(), ...withoutRequest })
        .where('call_id', '=', callId)
        .where('status', '=', 'approved')
        .where('decided_at', '>', now.getTime() - startWithinMs)
        .returning('call_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** Ends a call that is in one of these states. False if it is in another. */
    end: async (
      tx: Queries,
      callId: string,
      from: readonly CallStatus[],
      to: Ended,
      now: Date,
      { error, isSent = false }: { error?: CallError; isSent?: boolean } = {},
    ): Promise<boolean> => {
      const row = await tx
        .updateTable('held_calls')
        .set({
          status: to,
          ended_at: now.getTime(),
          is_sent: isSent ? 1 : 0,
          error: error ? JSON.stringify(error) : null,
          ...withoutRequest,
        })
        .where('call_id', '=', callId)
        .where('status', 'in', from)
        .returning('call_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** In the transaction of the outcome. Also if the call took longer than expected. */
    conclude: async (
      tx: Queries,
      call: Place,
      { response, upstreamStatus, error }: { response: Buffer | undefined; upstreamStatus: number; error?: CallError },
      now: Date,
    ): Promise<void> => {
      const sealed = response && (await seal(tx, heldResponse, call, response.toString()))
      await tx
        .updateTable('held_calls')
        .set({
          status: 'done',
          ended_at: now.getTime(),
          upstream_status: upstreamStatus,
          is_sent: 1,
          error: error ? JSON.stringify(error) : null,
          response: sealed?.bytes ?? null,
          response_key_id: sealed?.keyId ?? null,
          size: sealed?.bytes.length ?? 0,
        })
        .where('call_id', '=', call.callId)
        .where('status', 'in', ['running', 'unknown'])
        .execute()
    },

    openRequest: async (queries: Queries, call: Place) =>
      parse(await open(queries, heldRequest, call)) as HeldRequest | undefined,

    openShown: async (queries: Queries, call: Place): Promise<Shown> => {
      const shown = parse(await open(queries, heldShown, call)) as Shown | undefined
      if (!shown) throw new Error('a held call can be shown')
      return shown
    },

    /** The envelope. Undefined if there is none, or not any more. */
    openResponse: async (queries: Queries, call: Place): Promise<Buffer | undefined> => {
      const secret = await open(queries, heldResponse, call)
      return secret && Buffer.from(secret.reveal())
    },

    /** The statuses of these calls as of now. */
    statusesOf: async (queries: Queries, callIds: readonly string[], now: Date): Promise<Map<string, CallStatus>> => {
      const rows = await calls(queries)
        .select(['held_calls.call_id', statusNow(now).as('status_now')])
        .where('held_calls.call_id', 'in', callIds)
        .limit(callIds.length)
        .execute()
      return new Map(rows.map(({ call_id, status_now }) => [call_id, status_now]))
    },

    /** Approved calls that nobody has started. */
    listToStart: async (queries: Queries, before: Date, now: Date, limit: number): Promise<string[]> => {
      const rows = await queries
        .selectFrom('held_calls')
        .select('call_id')
        .where('status', '=', 'approved')
        .where('decided_at', '<=', before.getTime())
        .where('decided_at', '>', now.getTime() - startWithinMs)
        .orderBy('decided_at')
        .limit(limit)
        .execute()
      return rows.map(({ call_id }) => call_id)
    },

    /** A batch of calls whose status is not what is written. */
    listToSettle: async (queries: Queries, now: Date): Promise<HeldCall[]> => {
      const rows = await calls(queries)
        .select(columns)
        .select(statusNow(now).as('status_now'))
        .where('held_calls.status', 'in', ['waiting', 'approved', 'running'])
        .where(sql<boolean>`${statusNow(now)} <> held_calls.status`)
        .orderBy('held_calls.call_id')
        .limit(rowsPerBatch)
        .execute()
      return rows.map(toHeldCall)
    },

    /** Forgets a batch of responses; returns how many. */
    dropResponses: async (tx: Queries, now: Date): Promise<number> => {
      const old = sql`select call_id from held_calls
        where response is not null and ended_at <= ${now.getTime() - responseMs} limit ${sql.lit(rowsPerBatch)}`
      const { numAffectedRows = 0n } = await sql`
        update held_calls set response = null, response_key_id = null, size = 0 where call_id in (${old})`.execute(tx)
      return Number(numAffectedRows)
    },

    /** Deletes a batch of calls that ended long ago; returns how many. */
    dropOld: (tx: Queries, now: Date): Promise<number> =>
      deleteBatch(
        tx,
        'held_calls',
        'call_id',
        sql`status in ('done', 'denied', 'expired', 'cancelled', 'unknown')
        and expires_at <= ${now.getTime() - undecidedRetentionMs}
        and (decided_at is null or expires_at <= ${now.getTime() - retentionMs})`,
      ),
  }
}

type Place = Pick<HeldCall, 'callId' | 'agentId'>
export type HeldCallStore = ReturnType<typeof createHeldCallStore>
