import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type {} from './connection-store.ts'
import type { DeviceFlow, DeviceFlowOutcome } from './device-flow.ts'

interface DeviceFlowRow {
  device_flow_id: string
  user_id: string
  provider_id: string
  connection_id: string | null
  scopes: string
  device_code: Uint8Array | null
  device_code_key_id: string | null
  interval_seconds: number
  next_poll_at: number
  created_at: number
  expires_at: number
  outcome: DeviceFlowOutcome | null
  made_connection_id: string | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    device_flows: DeviceFlowRow
  }
}

export const deviceCode: SealedColumn = {
  table: 'device_flows',
  column: 'device_code',
  rowColumn: 'device_flow_id',
  ownerColumn: 'user_id',
}

/** A flow without its device code, which only `takePoll` returns. */
export type KnownFlow = Omit<DeviceFlow, 'deviceCode'>

export function createDeviceFlowStore(vault: Vault) {
  return {
    insert: async (tx: Queries, flow: DeviceFlow): Promise<void> => {
      const where = { row: flow.deviceFlowId, owner: flow.userId }
      const sealed = await vault.seal(tx, deviceCode, where, flow.deviceCode)
      await tx
        .insertInto('device_flows')
        .values({
          device_flow_id: flow.deviceFlowId,
          user_id: flow.userId,
          provider_id: flow.providerId,
          connection_id: flow.connectionId,
          scopes: JSON.stringify(flow.scopes),
          device_code: sealed.bytes,
          device_code_key_id: sealed.keyId,
          interval_seconds: flow.intervalSeconds,
          next_poll_at: flow.nextPollAt.getTime(),
          created_at: flow.createdAt.getTime(),
          expires_at: flow.expiresAt.getTime(),
          outcome: null,
          made_connection_id: null,
        })
        .execute()
    },

    findOfUser: async (queries: Queries, userId: string, deviceFlowId: string): Promise<KnownFlow | undefined> => {
      const row = await queries
        .selectFrom('device_flows')
        .selectAll()
        .where('device_flow_id', '=', deviceFlowId)
        .where('user_id', '=', userId)
        .executeTakeFirst()
      return row && toFlow(row)
    },

    /** Takes a lease to ask the provider now. Undefined if it is too early, or a concurrent poll has the lease. */
    takePoll: async (tx: Queries, flow: KnownFlow, now: Date, until: Date): Promise<DeviceFlow | undefined> => {
      const row = await tx
        .updateTable('device_flows')
        .set({ next_poll_at: until.getTime() })
        .where('device_flow_id', '=', flow.deviceFlowId)
        .where('next_poll_at', '<=', now.getTime())
        .where('outcome', 'is', null)
        .returningAll()
        .executeTakeFirst()
      if (!row || row.device_code === null || row.device_code_key_id === null) return undefined
      const where = { row: row.device_flow_id, owner: row.user_id }
      const sealed = { bytes: row.device_code, keyId: row.device_code_key_id }
      return { ...toFlow(row), deviceCode: await vault.open(tx, deviceCode, where, sealed) }
    },

    /**
     * After the provider's response: the next poll is allowed after the interval, which the provider may have
     * increased.
     */
    waitForNextPoll: async (
      queries: Queries,
      { deviceFlowId }: KnownFlow,
      intervalSeconds: number,
      now: Date,
    ): Promise<void> => {
      await queries
        .updateTable('device_flows')
        .set({ interval_seconds: intervalSeconds, next_poll_at: now.getTime() + intervalSeconds * 1000 })
        .where('device_flow_id', '=', deviceFlowId)
        .execute()
    },

    /**
     * False if it has ended already, unless it expired while the user's consent was being processed. Deletes the device
     * code, which is not needed any more.
     */
    end: async (
      tx: Queries,
      { deviceFlowId }: KnownFlow,
      outcome: DeviceFlowOutcome,
      connectionId: string | null = null,
    ): Promise<boolean> => {
      const row = await tx
        .updateTable('device_flows')
        .set({ outcome, made_connection_id: connectionId, device_code: null, device_code_key_id: null })
        .where('device_flow_id', '=', deviceFlowId)
        .where((eb) =>
          eb.or([eb('outcome', 'is', null), eb.and([eb('outcome', '=', 'expired'), eb.lit(outcome === 'connected')])]),
        )
        .returning('device_flow_id')
        .executeTakeFirst()
      return row !== undefined
    },

    dropEndedBefore: (tx: Queries, before: Date): Promise<number> =>
      deleteBatch(tx, 'device_flows', 'device_flow_id', sql`expires_at < ${before.getTime()}`),
  }
}

export type DeviceFlowStore = ReturnType<typeof createDeviceFlowStore>

function toFlow(row: DeviceFlowRow): KnownFlow {
  return {
    deviceFlowId: row.device_flow_id,
    userId: row.user_id,
    providerId: row.provider_id,
    connectionId: row.connection_id,
    scopes: JSON.parse(row.scopes) as string[],
    intervalSeconds: row.interval_seconds,
    nextPollAt: new Date(row.next_poll_at),
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    outcome: row.outcome,
    madeConnectionId: row.made_connection_id,
  }
}
