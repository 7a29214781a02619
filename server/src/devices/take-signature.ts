/**
 * Verifies a device's signature and uses up its challenge. Trusts nothing that was read before the transaction: the
 * user's row is locked first, so the device can't be revoked nor the challenge used between check and write.
 */
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { UserStore } from '../sessions/user-store.ts'
import type { Challenge, Signed } from './challenge.ts'
import type { ChallengeStore } from './challenge-store.ts'
import { mayDecide } from './device.ts'
import type { DecidingDevice } from './device.ts'
import type { DeviceStore } from './device-store.ts'
import { isSignedBy, readSignature } from './signature.ts'

export interface TakeSignatureNeeds {
  database: Database
  users: UserStore
  devices: DeviceStore
  challenges: ChallengeStore
  clock: Clock
}

/** The expected signer, subject and text. */
export interface ToBeSigned {
  userId: string
  subject: string
  message: (challenge: Challenge) => string
}

export async function takeSignature(
  { database, users, devices, challenges, clock }: TakeSignatureNeeds,
  tx: Queries,
  signed: Signed,
  of: ToBeSigned,
): Promise<{ challenge: Challenge; device: DecidingDevice }> {
  const signature = readSignature(signed.signature)
  await users.lock(database, tx, of.userId)
  const now = clock()
  const challenge = await challenges.findOf(tx, of, signed.challengeId)
  if (!challenge) {
    const message = 'No such challenge for this action. Request a new one.'
    throw new ServiceError('not_found', { field: 'challenge_id', message })
  }
  if (challenge.usedAt) throw new ServiceError('challenge_already_used', { field: 'challenge_id' })
  if (challenge.expiresAt <= now) throw new ServiceError('expired', { field: 'challenge_id' })
  const device = await devices.findOfUser(tx, of.userId, challenge.deviceId)
  if (!device || !mayDecide(device) || !isSignedBy(device.publicKey, of.message(challenge), signature)) {
    throw new ServiceError('invalid_signature', { field: 'signature' })
  }
  if (!(await challenges.consume(tx, challenge.challengeId, now))) {
    throw new ServiceError('challenge_already_used', { field: 'challenge_id' })
  }
  return { challenge: { ...challenge, usedAt: now }, device }
}
