import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import type { Signed } from './challenge.ts'
import type { Device } from './device.ts'
import { agreedBy, lockUser } from './device-approval.ts'
import type { DeviceApprovalNeeds } from './device-approval.ts'

/**
 * Its session and signatures stop working immediately. A device removes itself, and another with a signature. If its user
 * requires device approval, the removal has to be signed, even by the device itself: a stolen session must not remove
 * deciding devices.
 */
export async function revokeDevice(
  needs: DeviceApprovalNeeds,
  by: { user: User; device?: Device },
  deviceId: string,
  signed: Signed | undefined,
  requestId: string,
): Promise<Device> {
  const { database, devices, audit, clock } = needs
  const { userId } = by.user
  return database.transaction(async (tx) => {
    const user = await lockUser(needs, tx, userId)
    const found = await devices.findOfUser(tx, userId, deviceId)
    if (!found || (by.device && by.device.deviceId !== deviceId && !signed)) throw new ServiceError('not_found')
    if (found.revokedAt) return found
    const agreed = await agreedBy(needs, tx, user, `remove:${deviceId}`, signed)
    const at = clock()
    const detail = { device_id: deviceId, by: by.device ? 'device' : 'user', ...agreed }
    await audit.append(tx, { event: 'device.revoked', at, requestId, userId, detail })
    return (await devices.revoke(tx, userId, deviceId, at)) ?? found
  })
}
