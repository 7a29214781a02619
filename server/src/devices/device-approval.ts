/**
 * "Approve on device only" protects against a stolen console session. While it is on, the console alone can neither
 * turn it off nor change which devices decide. Each change is checked with the user's row locked, so changes run one at
 * a time.
 */
import { deviceMessage } from '@sallyport/protocol/approval-message'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import type { Signed } from './challenge.ts'
import { takeSignature } from './take-signature.ts'
import type { TakeSignatureNeeds } from './take-signature.ts'

export interface DeviceApprovalNeeds extends TakeSignatureNeeds {
  audit: AuditWriter
}

/** Turns it on. Requires a device that can approve: otherwise nothing could be approved any more. */
export async function requireDeviceApproval(needs: DeviceApprovalNeeds, { userId }: User, requestId: string) {
  const { database, users, devices, audit, clock } = needs
  return database.transaction(async (tx) => {
    const user = await lockUser(needs, tx, userId)
    if (user.requiresDevice) return user
    const deciding = await devices.listDeciding(tx, userId)
    if (deciding.length === 0) throw new ServiceError('device_key_required')
    const detail = { devices: deciding.map(({ deviceId }) => deviceId) }
    await audit.append(tx, { event: 'device_approval.required', at: clock(), requestId, userId, detail })
    return users.requireDevice(tx, userId, true)
  })
}

export async function liftDeviceApproval(
  needs: DeviceApprovalNeeds,
  { userId }: User,
  signed: Signed | undefined,
  requestId: string,
): Promise<User> {
  const { database, users, audit, clock } = needs
  return database.transaction(async (tx) => {
    const user = await lockUser(needs, tx, userId)
    if (!user.requiresDevice) return user
    const detail = await agreedBy(needs, tx, user, 'off', signed)
    await audit.append(tx, { event: 'device_approval.lifted', at: clock(), requestId, userId, detail })
    return users.requireDevice(tx, userId, false)
  })
}

/** For the operator, when a user has lost their devices. */
export async function resetDeviceApproval(
  needs: DeviceApprovalNeeds,
  userId: string,
  requestId: string,
): Promise<User> {
  const { database, users, audit, clock } = needs
  return database.transaction(async (tx) => {
    const user = await lockUser(needs, tx, userId)
    if (!user.requiresDevice) return user
    await audit.append(tx, { event: 'device_approval.reset', at: clock(), requestId, userId })
    return users.requireDevice(tx, userId, false)
  })
}

export async function lockUser(
  { database, users }: Pick<DeviceApprovalNeeds, 'database' | 'users'>,
  tx: Queries,
  userId: string,
): Promise<User> {
  const user = await users.lock(database, tx, userId)
  if (!user) throw new ServiceError('not_found')
  return user
}

/**
 * The device that signed, for the audit log. Undefined if none has to. A signature is always verified if sent. The user
 * has to be locked.
 */
export async function agreedBy(
  needs: TakeSignatureNeeds,
  tx: Queries,
  { userId, requiresDevice }: User,
  action: string,
  signed: Signed | undefined,
): Promise<{ signed_by?: string; challenge_id?: string }> {
  if (!signed && requiresDevice) throw new ServiceError('device_signature_required')
  if (!signed) return {}
  const { challenge, device } = await takeSignature(needs, tx, signed, {
    userId,
    subject: action,
    message: ({ challengeId, nonce }) => deviceMessage(challengeId, nonce, userId, action),
  })
  return { signed_by: device.deviceId, challenge_id: challenge.challengeId }
}
