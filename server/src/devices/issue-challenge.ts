import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perMinute, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { Challenge } from './challenge.ts'
import type { ChallengeStore } from './challenge-store.ts'
import { mayDecide } from './device.ts'
import type { Device } from './device.ts'

export interface IssueChallengeNeeds {
  config: Pick<Config, 'challengeSeconds' | 'challengesPerMinute'>
  database: Database
  challenges: ChallengeStore
  clock: Clock
}

/**
 * The challenge is valid only for this device and subject. The signature also covers `decision`: canonical JSON (RFC
 * 8785), which is stored, or its SHA-256.
 */
export async function issueChallenge(
  { config, database, challenges, clock }: IssueChallengeNeeds,
  device: Device,
  subject: string,
  decision?: string | Buffer,
): Promise<Challenge> {
  // Checked again when the signature arrives.
  if (!mayDecide(device)) throw new ServiceError('device_key_required')
  const now = clock()
  const { deviceId, userId } = device
  const random = randomBytes(32)
  const hash = typeof decision === 'string' ? sha256(decision) : decision
  const covered = hash === undefined ? random : Buffer.concat([random, hash])
  const challenge: Challenge = {
    challengeId: newId('chl', now),
    deviceId,
    userId,
    subject,
    nonce: covered.toString('base64url'),
    decision: typeof decision === 'string' ? decision : null,
    createdAt: now,
    expiresAt: new Date(now.getTime() + config.challengeSeconds * 1000),
    usedAt: null,
  }
  await database.transaction(async (tx) => {
    await takeFromLimit(tx, `challenge:${deviceId}`, perMinute(config.challengesPerMinute), now)
    await challenges.insert(tx, challenge)
  })
  return challenge
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
