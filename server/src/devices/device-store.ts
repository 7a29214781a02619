import type { Platform } from '@sallyport/protocol/devices'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import type { Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { fromTime } from '../platform/database/times.ts'
import type { User } from '../sessions/user.ts'
import { toUser } from '../sessions/user-store.ts'
import type { Device, PushEnvironment } from './device.ts'

interface DeviceRow {
  device_id: string
  user_id: string
  name: string | null
  platform: Platform
  token_hash: Uint8Array
  public_key: string | null
  key_thumbprint: string | null
  key_enrolled_at: number | null
  push_token: Uint8Array | null
  push_token_key_id: string | null
  push_environment: PushEnvironment
  created_at: number
  last_seen_at: number
  revoked_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    devices: DeviceRow
  }
}

const columns = [
  'devices.device_id',
  'devices.user_id',
  'devices.name',
  'devices.platform',
  'devices.public_key',
  'devices.key_thumbprint',
  'devices.key_enrolled_at',
  'devices.push_token_key_id',
  'devices.push_environment',
  'devices.created_at',
  'devices.last_seen_at',
  'devices.revoked_at',
] as const

export const deviceStore = {
  insert: async (tx: Queries, device: Device, tokenHash: Uint8Array): Promise<void> => {
    await tx
      .insertInto('devices')
      .values({
        device_id: device.deviceId,
        user_id: device.userId,
        name: device.name,
        platform: device.platform,
        token_hash: tokenHash,
        public_key: device.publicKey && JSON.stringify(device.publicKey),
        key_thumbprint: device.keyThumbprint,
        key_enrolled_at: device.keyEnrolledAt?.getTime() ?? null,
        push_token: null,
        push_token_key_id: null,
        push_environment: device.pushEnvironment,
        created_at: device.createdAt.getTime(),
        last_seen_at: device.lastSeenAt.getTime(),
        revoked_at: null,
      })
      .execute()
  },

  findByTokenHash: async (
    queries: Queries,
    tokenHash: Uint8Array,
  ): Promise<{ device: Device; user: User } | undefined> => {
    const row = await queries
      .selectFrom('devices')
      .innerJoin('users', 'users.user_id', 'devices.user_id')
      .select(columns)
      .select(['users.handle', 'users.email', 'users.disabled_at', 'users.requires_device'])
      .select(['users.name as user_name', 'users.created_at as user_created_at'])
      .where('devices.token_hash', '=', tokenHash)
      .executeTakeFirst()
    return (
      row && { device: toDevice(row), user: toUser({ ...row, name: row.user_name, created_at: row.user_created_at }) }
    )
  },

  findOfUser: async (queries: Queries, userId: string, deviceId: string): Promise<Device | undefined> => {
    const row = await queries
      .selectFrom('devices')
      .select(columns)
      .where('user_id', '=', userId)
      .where('device_id', '=', deviceId)
      .executeTakeFirst()
    return row && toDevice(row)
  },

  /** Devices whose signatures count now. */
  listDeciding: async (queries: Queries, userId: string): Promise<Device[]> => {
    const rows = await queries
      .selectFrom('devices')
      .select(columns)
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where('key_enrolled_at', 'is not', null)
      .orderBy('device_id')
      .execute()
    return rows.map(toDevice)
  },

  listOfUser: async (
    queries: Queries,
    userId: string,
    page: PageRequest<'active' | 'revoked'>,
  ): Promise<Page<Device>> => {
    const rows = await queries
      .selectFrom('devices')
      .select(columns)
      .where('user_id', '=', userId)
      .$if(page.status !== undefined, (query) =>
        query.where('revoked_at', page.status === 'active' ? 'is' : 'is not', null),
      )
      .$if(page.before !== undefined, (query) => query.where('device_id', '<', page.before ?? ''))
      .orderBy('device_id', 'desc')
      .limit(page.limit + 1)
      .execute()
    return pageOf(rows.map(toDevice), page.limit, ({ deviceId }) => deviceId)
  },

  /** Which of these devices are not revoked and belong to an active user. */
  listLive: async (queries: Queries, deviceIds: readonly string[]): Promise<string[]> => {
    const rows = await queries
      .selectFrom('devices')
      .innerJoin('users', 'users.user_id', 'devices.user_id')
      .select('device_id')
      .where('device_id', 'in', deviceIds)
      .where('users.disabled_at', 'is', null)
      .where('revoked_at', 'is', null)
      .execute()
    return rows.map(({ device_id }) => device_id)
  },

  markSeen: async (queries: Queries, deviceId: string, now: Date): Promise<void> => {
    await queries
      .updateTable('devices')
      .set({ last_seen_at: now.getTime() })
      .where('device_id', '=', deviceId)
      .where('last_seen_at', '<', now.getTime())
      .execute()
  },

  /** Undefined if it has no key, is already enrolled, or is revoked. */
  enrol: async (tx: Queries, userId: string, deviceId: string, now: Date): Promise<Device | undefined> => {
    const row = await tx
      .updateTable('devices')
      .set({ key_enrolled_at: now.getTime() })
      .where('user_id', '=', userId)
      .where('device_id', '=', deviceId)
      .where('public_key', 'is not', null)
      .where('key_enrolled_at', 'is', null)
      .where('revoked_at', 'is', null)
      .returning(columns)
      .executeTakeFirst()
    return row && toDevice(row)
  },

  /** The user's devices can't approve until they are confirmed again. Returns those that could. */
  unenrolAll: async (tx: Queries, userId: string): Promise<string[]> => {
    const rows = await tx
      .updateTable('devices')
      .set({ key_enrolled_at: null })
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where('key_enrolled_at', 'is not', null)
      .returning('device_id')
      .execute()
    return rows.map(({ device_id }) => device_id).toSorted()
  },

  /** Also deletes its push token. Undefined if there is no such device or it was already revoked. */
  revoke: async (tx: Queries, userId: string, deviceId: string, now: Date): Promise<Device | undefined> => {
    const row = await tx
      .updateTable('devices')
      .set({ revoked_at: now.getTime(), push_token: null, push_token_key_id: null })
      .where('user_id', '=', userId)
      .where('device_id', '=', deviceId)
      .where('revoked_at', 'is', null)
      .returning(columns)
      .executeTakeFirst()
    return row && toDevice(row)
  },
}

export type DeviceStore = typeof deviceStore

function toDevice(row: Omit<DeviceRow, 'token_hash' | 'push_token'>): Device {
  return {
    deviceId: row.device_id,
    userId: row.user_id,
    name: row.name,
    platform: row.platform,
    publicKey: row.public_key === null ? null : (JSON.parse(row.public_key) as DeviceKey),
    keyThumbprint: row.key_thumbprint,
    keyEnrolledAt: fromTime(row.key_enrolled_at),
    hasPushToken: row.push_token_key_id !== null,
    pushEnvironment: row.push_environment,
    createdAt: new Date(row.created_at),
    lastSeenAt: new Date(row.last_seen_at),
    revokedAt: fromTime(row.revoked_at),
  }
}
