import type { Device as DeviceView } from '@sallyport/protocol/devices'
import type { Device } from './device.ts'

export function deviceView(device: Device): DeviceView {
  const { keyThumbprint: thumbprint } = device
  return {
    device_id: device.deviceId,
    device_name: device.name,
    platform: device.platform,
    status: device.revokedAt ? 'revoked' : 'active',
    key: thumbprint === null ? null : { thumbprint, enrolled: device.keyEnrolledAt !== null },
    push: device.hasPushToken,
    created_at: device.createdAt.toISOString(),
    last_seen_at: device.lastSeenAt.toISOString(),
    revoked_at: device.revokedAt?.toISOString() ?? null,
  }
}
