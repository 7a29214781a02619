import type { User } from '../sessions/user.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Challenge, Signed } from './challenge.ts'
import { mayDecide } from './device.ts'
import type { Device } from './device.ts'
import { takeSignature } from './take-signature.ts'
import type { TakeSignatureNeeds, ToBeSigned } from './take-signature.ts'

/** Who decides: a user in the console or on a device. */
export interface Decider {
  user: User
  device: Device | undefined
}

export interface Signature extends Signed {
  challenge: Challenge
  device: Device
  /** The signed text. */
  message: string
}

/** A signature is verified whenever it was sent. A device decides by its key, never by its session alone. */
export async function judgeSigned(
  needs: TakeSignatureNeeds,
  tx: Queries,
  { user, device }: Decider,
  { subject, message }: Pick<ToBeSigned, 'subject' | 'message'>,
  signed: Signed | undefined,
): Promise<Signature | undefined> {
  if (device && !mayDecide(device)) throw new ServiceError('device_key_required')
  if (!signed) {
    if (device) throw new ServiceError('device_signature_required')
    return undefined
  }
  const taken = await takeSignature(needs, tx, signed, { userId: user.userId, subject, message })
  return { ...signed, ...taken, message: message(taken.challenge) }
}
