/**
 * The outbox of pushes. Claiming one leases it to this process. The number of its attempts identifies the lease, so a
 * sender that returns too late changes nothing.
 */
import type { Platform } from '@sallyport/protocol/devices'
import type { Database, Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { Secret } from '../platform/secret.ts'
import { outboxSize } from '../platform/outbox.ts'
import type { OutboxSize } from '../platform/outbox.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type { Device, PushEnvironment } from './device.ts'
import type {} from './device-store.ts'
import type { PushMessage } from './push-message.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    pushes: {
      push_id: string
      device_id: string
      /** What it is about: the id of an access request, or `calls:` and the user's id. */
      access_request_id: string
      message: string
      created_at: number
      expires_at: number
      attempts: number
      attempt_after: number
      /** 1 while an attempt is in progress. `attempt_after` is then the end of the lease. */
      is_leased: 0 | 1
    }
  }
}

export const pushToken: SealedColumn = {
  table: 'devices',
  column: 'push_token',
  rowColumn: 'device_id',
  ownerColumn: 'user_id',
}

/** Maximum pushes in flight per user across all instances, so that many slow devices delay only their own user. */
const perUser = 5

export interface ClaimedPush {
  pushId: string
  deviceId: string
  message: PushMessage
  expiresAt: Date
  attempts: number
}

/** Where to send a push. */
export interface PushAddress {
  platform: Platform
  environment: PushEnvironment
  token: Secret
  /** As stored. Tells this token from one that replaced it. */
  sealedToken: Uint8Array
}

export function createPushStore(vault: Vault) {
  return {
    /** Whether the user has a device that can receive pushes. */
    canReach: async (tx: Queries, userId: string): Promise<boolean> => {
      const device = await tx
        .selectFrom('devices')
        .select('device_id')
        .where('user_id', '=', userId)
        .where('revoked_at', 'is', null)
        .where('push_token', 'is not', null)
        .limit(1)
        .executeTakeFirst()
      return device !== undefined
    },

    /** Enqueues one for each active device with a push token. Returns how many. */
    enqueue: async (
      tx: Queries,
      { userId, message, subject = message.accessRequestId ?? '', now, notBefore = now, expiresAt }: NewPush,
    ): Promise<number> => {
      const devices = await tx
        .selectFrom('devices')
        .select('device_id')
        .where('user_id', '=', userId)
        .where('revoked_at', 'is', null)
        .where('push_token', 'is not', null)
        .execute()
      if (devices.length === 0) return 0
      const rows = devices.map(({ device_id }) => ({
        push_id: newId('psh', now),
        device_id,
        access_request_id: subject,
        message: JSON.stringify(message),
        created_at: now.getTime(),
        expires_at: expiresAt.getTime(),
        attempts: 0,
        attempt_after: notBefore.getTime(),
        is_leased: 0 as const,
      }))
      await tx.insertInto('pushes').values(rows).execute()
      return rows.length
    },

    size: (queries: Queries, now: Date): Promise<OutboxSize> => outboxSize(queries, 'pushes', now),

    /** Leases pushes that are due, new ones first. */
    claim: async (
      { engine, queries }: Pick<Database, 'engine' | 'queries'>,
      now: Date,
      until: Date,
      limit: number,
    ): Promise<ClaimedPush[]> => {
      const rows = await queries
        // One queue per user: pushes in flight come before those that are due.
        .with('lines', (db) =>
          db
            .selectFrom('pushes')
            .innerJoin('devices', 'devices.device_id', 'pushes.device_id')
            .select((eb) => [
              'push_id',
              eb.fn
                .agg<number>('row_number')
                .over((line) =>
                  line.partitionBy('user_id').orderBy('is_leased', 'desc').orderBy('attempts').orderBy('attempt_after'),
                )
                .as('place'),
            ])
            .where('attempt_after', '<=', until.getTime())
            .where((eb) => eb.or([eb('attempt_after', '<=', now.getTime()), eb('is_leased', '=', 1)])),
        )
        .with('due', (db) =>
          db
            .selectFrom('pushes')
            .select('push_id')
            .where('attempt_after', '<=', now.getTime())
            .where('push_id', 'in', (eb) => eb.selectFrom('lines').select('push_id').where('place', '<=', perUser))
            .orderBy('attempts')
            .orderBy('attempt_after')
            .limit(limit)
            // Skip what another instance is claiming right now.
            .$if(engine === 'postgres', (select) => select.forUpdate().skipLocked()),
        )
        .updateTable('pushes')
        .set((eb) => ({ attempt_after: until.getTime(), attempts: eb('attempts', '+', 1), is_leased: 1 }))
        .where('push_id', 'in', (eb) => eb.selectFrom('due').select('push_id'))
        .returningAll()
        .execute()
      return rows.map((row) => ({
        pushId: row.push_id,
        deviceId: row.device_id,
        message: toMessage(row.message, row.access_request_id),
        expiresAt: new Date(row.expires_at),
        attempts: row.attempts,
      }))
    },

    /** Undefined if the device was revoked, its user disabled or its token deleted since. */
    addressOf: async (queries: Queries, deviceId: string): Promise<PushAddress | undefined> => {
      const row = await queries
        .selectFrom('devices')
        .innerJoin('users', 'users.user_id', 'devices.user_id')
        .select(['devices.user_id', 'platform', 'push_environment', 'push_token', 'push_token_key_id'])
        .where('device_id', '=', deviceId)
        .where('devices.revoked_at', 'is', null)
        .where('users.disabled_at', 'is', null)
        .executeTakeFirst()
      if (!row?.push_token || row.push_token_key_id === null) return undefined
      const sealed = { bytes: row.push_token, keyId: row.push_token_key_id }
      const token = await vault.open(queries, pushToken, { row: deviceId, owner: row.user_id }, sealed)
      return { platform: row.platform, environment: row.push_environment, token, sealedToken: row.push_token }
    },

    /** Removes a push that was sent or given up. Does nothing if the lease was taken over. */
    drop: async (queries: Queries, { pushId, attempts }: ClaimedPush): Promise<void> => {
      await queries.deleteFrom('pushes').where('push_id', '=', pushId).where('attempts', '=', attempts).execute()
    },

    /** For a request that is decided. */
    dropOf: async (tx: Queries, subject: string): Promise<void> => {
      await tx.deleteFrom('pushes').where('access_request_id', '=', subject).execute()
    },

    /** Drops those that nobody has tried to send yet; returns how many. */
    dropWaiting: async (tx: Queries, subject: string, now: Date): Promise<number> => {
      const { numDeletedRows } = await tx
        .deleteFrom('pushes')
        .where('access_request_id', '=', subject)
        .where('attempts', '=', 0)
        .where('attempt_after', '>', now.getTime())
        .executeTakeFirst()
      return Number(numDeletedRows)
    },

    postpone: async (queries: Queries, { pushId, attempts }: ClaimedPush, until: Date): Promise<void> => {
      await queries
        .updateTable('pushes')
        .set({ attempt_after: until.getTime(), is_leased: 0 })
        .where('push_id', '=', pushId)
        .where('attempts', '=', attempts)
        .execute()
    },

    /** False if the device was revoked meanwhile. */
    setToken: async (
      tx: Queries,
      { deviceId, userId }: Pick<Device, 'deviceId' | 'userId'>,
      { token, environment }: { token: Secret; environment: PushEnvironment },
    ): Promise<boolean> => {
      const { bytes, keyId } = await vault.seal(tx, pushToken, { row: deviceId, owner: userId }, token)
      const row = await tx
        .updateTable('devices')
        .set({ push_token: bytes, push_token_key_id: keyId, push_environment: environment })
        .where('device_id', '=', deviceId)
        .where('revoked_at', 'is', null)
        .returning('device_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** Deletes the token and the device's unsent pushes. False if the token was replaced meanwhile. */
    forgetToken: async (tx: Queries, deviceId: string, { sealedToken }: PushAddress): Promise<boolean> => {
      const row = await tx
        .updateTable('devices')
        .set({ push_token: null, push_token_key_id: null })
        .where('device_id', '=', deviceId)
        .where('push_token', '=', sealedToken)
        .returning('device_id')
        .executeTakeFirst()
      if (!row) return false
      await tx.deleteFrom('pushes').where('device_id', '=', deviceId).execute()
      return true
    },
  }
}

interface NewPush {
  userId: string
  /** What it is about. Default: the access request. */
  subject?: string
  message: PushMessage
  now: Date
  notBefore?: Date
  expiresAt: Date
}

/** An earlier version stored the id of the access request beside the message only. */
function toMessage(text: string, accessRequestId: string): PushMessage {
  const message = JSON.parse(text) as PushMessage
  return message.calls ? message : { ...message, accessRequestId }
}

export type PushStore = ReturnType<typeof createPushStore>
