import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import type { Signed } from './challenge.ts'
import type { Device } from './device.ts'
import { agreedBy, lockUser } from './device-approval.ts'
import type { DeviceApprovalNeeds } from './device-approval.ts'

/**
 * Lets a device decide that was paired while its user required device approval. An enrolled device signs the thumbprint
 * of the new key. If device approval is no longer required, the user's session is enough, as it is for pairing. A
 * device can't enrol itself.
 */
export async function enrolDevice(
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
    if (!found) throw new ServiceError('not_found')
    if (found.revokedAt) throw new ServiceError('conflict', { message: 'The device was removed. Pair it again.' })
    if (found.keyThumbprint === null) {
      throw new ServiceError('conflict', { message: 'The device has no key. Pair it again with a key.' })
    }
    if (found.keyEnrolledAt) return found
    if (!signed && by.device) throw new ServiceError('device_signature_required')
    const agreed = await agreedBy(needs, tx, user, `enrol:${found.keyThumbprint}`, signed)
    const at = clock()
    const detail = { device_id: deviceId, key_thumbprint: found.keyThumbprint, ...agreed }
    await audit.append(tx, { event: 'device.enrolled', at, requestId, userId, detail })
    return (await devices.enrol(tx, userId, deviceId, at)) ?? found
  })
}
