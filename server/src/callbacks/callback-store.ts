import { sql } from 'kysely'
import type {} from '../agents/agent-store.ts'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { Secret } from '../platform/secret.ts'
import { outboxSize } from '../platform/outbox.ts'
import type { OutboxSize } from '../platform/outbox.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type { CallbackPayload, CallbackState, CallbackStatus, ClaimedCallback } from './callback.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    callbacks: {
      delivery_id: string
      access_request_id: string
      agent_id: string
      url: string
      secret: Uint8Array | null
      secret_key_id: string | null
      status: CallbackStatus
      payload: string | null
      attempts: number
      attempt_after: number | null
      /** 1 while an attempt is in progress. `attempt_after` is then the end of the lease. */
      is_leased: 0 | 1
      give_up_after: number | null
      last_error: string | null
      created_at: number
      is_sandbox: 0 | 1
    }
  }
}

export const callbackSecret: SealedColumn = {
  table: 'callbacks',
  column: 'secret',
  rowColumn: 'delivery_id',
  ownerColumn: 'agent_id',
}

/** How long after the decision delivery is retried. */
const givenUpAfterMs = 24 * 3_600_000

/** Identifies a lease by the number of its attempt. */
type Lease = Pick<ClaimedCallback, 'deliveryId' | 'attempts'>

export function createCallbackStore(vault: Vault) {
  return {
    /** Nothing is sent before `release`. The delivery's id is its `webhook-id` in every attempt. */
    insert: async (
      tx: Queries,
      callback: { accessRequestId: string; agentId: string; url: URL; secret: Secret; isSandbox: boolean; now: Date },
    ): Promise<void> => {
      const { accessRequestId, agentId, url, secret, isSandbox, now } = callback
      const deliveryId = newId('dlv', now)
      const { bytes, keyId } = await vault.seal(tx, callbackSecret, { row: deliveryId, owner: agentId }, secret)
      await tx
        .insertInto('callbacks')
        .values({
          delivery_id: deliveryId,
          access_request_id: accessRequestId,
          agent_id: agentId,
          url: url.href,
          secret: bytes,
          secret_key_id: keyId,
          status: 'waiting',
          payload: null,
          attempts: 0,
          attempt_after: null,
          is_leased: 0,
          give_up_after: null,
          last_error: null,
          created_at: now.getTime(),
          is_sandbox: isSandbox ? 1 : 0,
        })
        .execute()
    },

    /** Part of the transaction that decides. Does nothing without a callback, or if it was already released. */
    release: async (tx: Queries, accessRequestId: string, payload: CallbackPayload, now: Date): Promise<void> => {
      const { event, access_request_id, status, grant_id, provider, agent_id } = payload
      await tx
        .updateTable('callbacks')
        .set({
          status: 'pending',
          // Stored, so that every attempt sends the same bytes.
          payload: JSON.stringify({ event, access_request_id, status, grant_id, provider, agent_id }),
          attempt_after: now.getTime(),
          give_up_after: now.getTime() + givenUpAfterMs,
        })
        .where('access_request_id', '=', accessRequestId)
        .where('status', '=', 'waiting')
        .execute()
    },

    stateOf: async (queries: Queries, accessRequestId: string): Promise<CallbackState | undefined> => {
      const row = await queries
        .selectFrom('callbacks')
        .select(['status', 'attempts', 'last_error'])
        .where('access_request_id', '=', accessRequestId)
        .executeTakeFirst()
      return row && { status: row.status, attempts: row.attempts, lastError: row.last_error }
    },

    size: (queries: Queries, now: Date): Promise<OutboxSize> => outboxSize(queries, 'callbacks', now),

    /**
     * Leases callbacks that are due. No agent has more than `perAgent` in flight across all instances, so slow
     * receivers delay only that agent's callbacks. Retries come after new callbacks. Sandbox callbacks of all agents
     * count as one agent's: no user decides them, so anyone could fill the outbox.
     */
    claim: (
      { engine, transaction }: Database,
      { now, until, limit, perAgent }: { now: Date; until: Date; limit: number; perAgent: number },
    ): Promise<ClaimedCallback[]> =>
      transaction(async (tx) => {
        // One queue per agent: deliveries in flight come before those that are due.
        const lines = tx
          .selectFrom('callbacks')
          .select(['delivery_id', placeInLine.as('place')])
          .where('attempt_after', '<=', until.getTime())
          .where((eb) => eb.or([eb('attempt_after', '<=', now.getTime()), eb('is_leased', '=', 1)]))
        const due = await tx
          .selectFrom('callbacks')
          .select('delivery_id')
          .where('attempt_after', '<=', now.getTime())
          .where(
            'delivery_id',
            'in',
            tx.selectFrom(lines.as('lines')).select('delivery_id').where('place', '<=', perAgent),
          )
          .orderBy('attempts')
          .orderBy('attempt_after')
          .limit(limit)
          // Skip what another instance is claiming right now.
          .$if(engine === 'postgres', (query) => query.forUpdate().skipLocked())
          .execute()
        if (due.length === 0) return []
        const ids = due.map(({ delivery_id }) => delivery_id)
        const rows = await tx
          .updateTable('callbacks')
          .set((eb) => ({ attempts: eb('attempts', '+', 1), attempt_after: until.getTime(), is_leased: 1 }))
          .where('delivery_id', 'in', ids)
          .where('attempt_after', '<=', now.getTime())
          .returning(['delivery_id', 'access_request_id', 'agent_id', 'url', 'payload', 'attempts', 'give_up_after'])
          .execute()
        return rows.map((row) => ({
          deliveryId: row.delivery_id,
          accessRequestId: row.access_request_id,
          agentId: row.agent_id,
          url: new URL(row.url),
          body: row.payload ?? '',
          attempts: row.attempts,
          giveUpAfter: new Date(row.give_up_after ?? 0),
        }))
      }),

    /** Undefined if the agent was disabled or the callback has ended since. */
    secretOf: async (
      queries: Queries,
      { deliveryId, agentId }: Pick<ClaimedCallback, 'deliveryId' | 'agentId'>,
    ): Promise<Secret | undefined> => {
      const row = await queries
        .selectFrom('callbacks')
        .innerJoin('agents', 'agents.agent_id', 'callbacks.agent_id')
        .select(['secret', 'secret_key_id'])
        .where('delivery_id', '=', deliveryId)
        .where('agents.disabled_at', 'is', null)
        .executeTakeFirst()
      if (!row?.secret || row.secret_key_id === null) return undefined
      const sealed = { bytes: row.secret, keyId: row.secret_key_id }
      return vault.open(queries, callbackSecret, { row: deliveryId, owner: agentId }, sealed)
    },

    /** Does nothing if the lease was taken over or the callback was delivered meanwhile. */
    postpone: async (queries: Queries, lease: Lease, until: Date, error: string): Promise<void> => {
      await queries
        .updateTable('callbacks')
        .set({ attempt_after: until.getTime(), is_leased: 0, last_error: error })
        .where('delivery_id', '=', lease.deliveryId)
        .where('attempts', '=', lease.attempts)
        .where('status', '=', 'pending')
        .execute()
    },

    /**
     * Deletes secret and payload. A success counts even if the lease was lost, a failure does not. False if nothing
     * changed.
     */
    end: async (tx: Queries, lease: Lease, outcome: { error: string | null }): Promise<boolean> => {
      const { error } = outcome
      const row = await tx
        .updateTable('callbacks')
        .set({ status: error === null ? 'delivered' : 'failed', last_error: error, ...nothingToSend })
        .where('delivery_id', '=', lease.deliveryId)
        .where('status', '=', 'pending')
        .$if(error !== null, (query) => query.where('attempts', '=', lease.attempts))
        .returning('delivery_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** Deleted with their access requests. */
    dropOf: async (tx: Queries, accessRequestIds: readonly string[]): Promise<void> => {
      if (accessRequestIds.length === 0) return
      await tx.deleteFrom('callbacks').where('access_request_id', 'in', accessRequestIds).execute()
    },

    /** Deletes callbacks of requests that can no longer be decided. */
    dropWaitingBefore: (tx: Queries, before: Date): Promise<number> =>
      deleteBatch(tx, 'callbacks', 'delivery_id', sql`status = 'waiting' and created_at < ${before.getTime()}`),
  }
}

export type CallbackStore = ReturnType<typeof createCallbackStore>

const placeInLine = sql<number>`row_number() over (
  partition by case is_sandbox when 1 then 'sandbox' else agent_id end
  order by is_leased desc, attempts, attempt_after
)`

const nothingToSend = {
  secret: null,
  secret_key_id: null,
  payload: null,
  attempt_after: null,
  is_leased: 0,
  give_up_after: null,
} as const
