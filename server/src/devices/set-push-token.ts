import type { Database } from '../platform/database/database.ts'
import type { Egress } from '../platform/egress/egress.ts'
import { ServiceError } from '../platform/errors.ts'
import { subscriptionOf } from '../platform/push/subscription.ts'
import type { Secret } from '../platform/secret.ts'
import type { User } from '../sessions/user.ts'
import type { Device, PushEnvironment } from './device.ts'
import type { DeviceStore } from './device-store.ts'
import type { PushStore } from './push-store.ts'

export interface SetPushTokenNeeds {
  database: Database
  devices: DeviceStore
  pushes: PushStore
  egress: Egress
}

const field = 'push_token'

/** Called by the device itself or by its user. Replaces the previous token. */
export async function setPushToken(
  { database, devices, pushes, egress }: SetPushTokenNeeds,
  by: { user: User; device?: Device },
  deviceId: string,
  given: { token: Secret; environment: PushEnvironment },
): Promise<Device> {
  const { userId } = by.user
  if (by.device && by.device.deviceId !== deviceId) throw new ServiceError('not_found')
  return database.transaction(async (tx) => {
    const device = await devices.findOfUser(tx, userId, deviceId)
    if (!device || device.revokedAt) throw new ServiceError('not_found')
    judge[device.platform](given.token, egress)
    const isStored = await pushes.setToken(tx, device, given)
    const changed = isStored && (await devices.findOfUser(tx, userId, deviceId))
    if (!changed) throw new ServiceError('not_found')
    return changed
  })
}

const judge: Record<Device['platform'], (token: Secret, egress: Egress) => void> = {
  ios: (token) => {
    if (!token.matches(/^(?:[0-9a-fA-F]{2}){32,100}$/)) {
      throw new ServiceError('invalid_field', {
        field,
        message: 'This is not an APNs device token (64 to 200 hex digits).',
      })
    }
  },
  android: (token) => {
    if (!token.matches(/^[\x21-\x7e]{1,4096}$/)) {
      throw new ServiceError('invalid_field', {
        field,
        message: 'This is not an FCM registration token (visible ASCII characters).',
      })
    }
  },
  web: (token, egress) => {
    const subscription = subscriptionOf(token)
    if (!subscription) {
      const message = 'This is not a JSON-encoded PushSubscription with an endpoint and the keys p256dh and auth.'
      throw new ServiceError('invalid_field', { field, message })
    }
    egress.judgeUrl(new URL(subscription.endpoint), 'stranger', field)
  },
}
