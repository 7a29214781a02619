/**
 * Pairs a device with a pairing code. Codes can be guessed, so attempts are counted before the code is checked:
 * concurrent attempts get no more tries than sequential ones.
 */
import type { Platform } from '@sallyport/protocol/devices'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import type { AuditWriter } from '../audit/audit-log.ts'
import { addressBlock } from '../platform/limits/client-address.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { giveBackToLimit, perMinute, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { RateLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import { hashToken, mintToken } from '../platform/tokens.ts'
import type { User } from '../sessions/user.ts'
import type { UserStore } from '../sessions/user-store.ts'
import type { Device } from './device.ts'
import { readDeviceKey, thumbprintOf } from './device-key.ts'
import type { DeviceStore } from './device-store.ts'
import { hashPairingCode } from './hash-pairing-code.ts'
import { readPairingCode } from './pairing-code.ts'
import type { PairingCodeStore } from './pairing-code-store.ts'

export interface PairNeeds {
  config: Pick<Config, 'pairingTriesPerMinute'>
  database: Database
  users: UserStore
  devices: DeviceStore
  pairingCodes: PairingCodeStore
  audit: AuditWriter
  clock: Clock
}

export interface Pairing {
  pairingCode: string
  name: string | undefined
  platform: Platform
  publicKey: DeviceKey | undefined
}

export async function pair(
  needs: PairNeeds,
  { pairingCode, name, platform, publicKey: given }: Pairing,
  from: { address: string; requestId: string },
): Promise<{ device: Device; sessionToken: Secret }> {
  const { config, database, devices, audit, clock } = needs
  const publicKey = given ? readDeviceKey(given) : null
  const tries = triesOf(from.address, config.pairingTriesPerMinute)
  await database.transaction(async (tx) => {
    for (const { key, limit } of tries) await takeFromLimit(tx, key, limit, clock())
  })
  const code = readPairingCode(pairingCode)
  if (code === undefined) throw unknownCode()
  const codeHash = await hashPairingCode(code)
  const sessionToken = mintToken('device')
  return database.transaction(async (tx) => {
    const now = clock()
    const { userId, requiresDevice } = await consumeCode(needs, tx, codeHash, now)
    for (const { key, limit } of tries) await giveBackToLimit(tx, key, limit)
    const device: Device = {
      deviceId: newId('dev', now),
      userId,
      name: name ?? null,
      platform,
      publicKey,
      keyThumbprint: publicKey && thumbprintOf(publicKey),
      // If the user requires device approval, an enrolled device has to agree first: a code alone must not add one that
      // decides.
      keyEnrolledAt: publicKey && !requiresDevice ? now : null,
      hasPushToken: false,
      pushEnvironment: 'production',
      createdAt: now,
      lastSeenAt: now,
      revokedAt: null,
    }
    await devices.insert(tx, device, hashToken(sessionToken))
    const detail = {
      device_id: device.deviceId,
      platform,
      key_thumbprint: device.keyThumbprint,
      enrolled: device.keyEnrolledAt !== null,
    }
    await audit.append(tx, { event: 'device.paired', at: now, requestId: from.requestId, userId, detail })
    return { device, sessionToken }
  })
}

/** An IPv6 customer may have a whole /48: it gets twenty times the limit of one network. */
function triesOf(address: string, perNetwork: number): { key: string; limit: RateLimit }[] {
  const { narrow, wide } = addressBlock(address)
  const network = { key: `pair:${narrow}`, limit: perMinute(perNetwork) }
  return wide === undefined ? [network] : [network, { key: `pair:${wide}`, limit: perMinute(20 * perNetwork) }]
}

/** The code's user, with their row locked. Of several concurrent calls with one code, one gets here. */
async function consumeCode(
  { database, users, pairingCodes }: PairNeeds,
  tx: Queries,
  codeHash: Uint8Array,
  now: Date,
): Promise<User> {
  const found = await pairingCodes.find(tx, codeHash)
  const user = found && (await users.lock(database, tx, found.userId))
  if (!user || user.disabledAt || found.usedAt) throw unknownCode()
  if (found.expiresAt <= now) {
    const message = 'The pairing code has expired. Create a new one.'
    throw new ServiceError('expired', { field: 'pairing_code', message })
  }
  if (!(await pairingCodes.consume(tx, codeHash, now))) throw unknownCode()
  return user
}

/** Unknown, used, or of a disabled user: indistinguishable from outside. */
function unknownCode(): ServiceError {
  const message = 'The pairing code is unknown or has been used. Create a new one.'
  return new ServiceError('not_found', { field: 'pairing_code', message })
}
