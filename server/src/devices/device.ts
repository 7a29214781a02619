import type { Platform } from '@sallyport/protocol/devices'
import type { DeviceKey } from '@sallyport/protocol/jwk'

export type PushEnvironment = 'production' | 'sandbox'

/** A paired authenticator: it is notified of access requests, and decides by signing. */
export interface Device {
  deviceId: string
  userId: string
  name: string | null
  platform: Platform
  publicKey: DeviceKey | null
  /** RFC 7638. */
  keyThumbprint: string | null
  /** Null without a key, or until an enrolled device has approved it. Only an enrolled key can decide. */
  keyEnrolledAt: Date | null
  hasPushToken: boolean
  pushEnvironment: PushEnvironment
  createdAt: Date
  lastSeenAt: Date
  revokedAt: Date | null
}

/** A device whose signature counts now. */
export type DecidingDevice = Device & { publicKey: DeviceKey; keyEnrolledAt: Date }

export function mayDecide(device: Device): device is DecidingDevice {
  return device.revokedAt === null && device.publicKey !== null && device.keyEnrolledAt !== null
}
