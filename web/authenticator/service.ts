import { createDeviceClient } from '@sallyport/sdk'
import type { DeviceClient } from '@sallyport/sdk'
import type { KeptDevice } from './kept-device.ts'

/** The service, as this device sees it. */
export function serviceFor({ sessionToken, key }: KeptDevice): DeviceClient {
  return createDeviceClient({ baseUrl: location.origin, sessionToken, key })
}
