import { createDeviceClient } from '@sallyport/sdk'
import type { DeviceClient } from '@sallyport/sdk'
import { watchedFetch } from '../ui/reachability.ts'
import type { KeptDevice } from './kept-device.ts'

/** The service's API for this device. */
export function serviceFor({ sessionToken, key }: KeptDevice): DeviceClient {
  return createDeviceClient({ baseUrl: location.origin, sessionToken, key, fetch: watchedFetch })
}
