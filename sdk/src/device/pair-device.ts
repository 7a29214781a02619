import { createTransport } from '../transport.ts'
import type { CallOptions, ClientOptions } from '../transport.ts'
import type { PairReply, Platform } from '../wire.ts'
import { publicJwkOf } from './keys.ts'
import type { DeviceKeyPair } from './keys.ts'

export interface PairOptions extends ClientOptions {
  /** The pairing code that the user was shown. */
  pairingCode: string
  /** Without a key the device gets notifications but can't approve. */
  key?: Pick<DeviceKeyPair, 'publicKey'> | undefined
  deviceName?: string | undefined
  /** Default: `web`. */
  platform?: Platform | undefined
}

/**
 * Pairs this device with the user who created the code. Store `session_token`: it is returned only once.
 *
 * ```ts
 * const key = await generateDeviceKey()
 * const { session_token } = await pairDevice({ baseUrl, pairingCode, key, deviceName: 'Desk' })
 * const device = createDeviceClient({ baseUrl, sessionToken: session_token, key })
 * ```
 */
export async function pairDevice(
  { pairingCode, key, deviceName, platform = 'web', ...service }: PairOptions,
  options?: CallOptions,
): Promise<PairReply> {
  const body = {
    pairing_code: pairingCode,
    device_name: deviceName,
    platform,
    public_key_jwk: key && (await publicJwkOf(key)),
  }
  return createTransport(service).json({ method: 'POST', path: '/v4/devices/pair', body }, options)
}
