/** A paired device of a test: paired over the API, with its own key. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { DeviceKey } from '@sallyport/protocol/jwk'
import { thumbprintOf } from '../src/devices/device-key.ts'
import type { TestService } from './service.ts'

export interface TestDevice {
  deviceId: string
  token: string
  /** Also for a device that was paired without a key: its signatures are then not accepted. */
  key: KeyObject
  publicKey: DeviceKey
  thumbprint: string
  /** In DER, as base64url. */
  sign: (message: string) => string
}

interface DeviceOptions {
  withKey?: boolean
  /** Another key to sign with. */
  publicKey?: DeviceKey
  name?: string
  platform?: 'ios' | 'android' | 'web'
}

export async function pairDevice(
  service: TestService,
  person: { token: string },
  { withKey = true, publicKey, name, platform }: DeviceOptions = {},
): Promise<TestDevice> {
  const key = newDeviceKey()
  const issued = await service.call('POST', '/v4/devices/pairing-codes', { token: person.token })
  assert.equal(issued.status, 201, issued.text)
  const { status, body, text } = await service.call('POST', '/v4/devices/pair', {
    body: {
      pairing_code: issued.body.pairing_code as string,
      ...(name !== undefined && { device_name: name }),
      ...(platform !== undefined && { platform }),
      ...(withKey && { public_key_jwk: publicKey ?? key.publicKey }),
    },
  })
  assert.equal(status, 201, text)
  const { device, session_token: token } = body as { device: { device_id: string }; session_token: string }
  return { deviceId: device.device_id, token, ...key }
}

export function newDeviceKey(): Omit<TestDevice, 'deviceId' | 'token'> {
  const { publicKey, privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const jwk: DeviceKey = { kty: 'EC', crv: 'P-256', x, y }
  return {
    key,
    publicKey: jwk,
    thumbprint: thumbprintOf(jwk),
    sign: (message) => sign('sha256', Buffer.from(message), { key, dsaEncoding: 'der' }).toString('base64url'),
  }
}

/** The signature on a device change (`off`, `remove:…`, `enrol:…`), as members of a request body. */
export async function signAction(
  service: TestService,
  device: TestDevice,
  action: string,
): Promise<{ challenge_id: string; signature: string }> {
  const { status, body, text } = await service.call('POST', '/v4/devices/challenge', {
    token: device.token,
    body: { action },
  })
  assert.equal(status, 201, text)
  const { challenge_id, signing_input } = body as { challenge_id: string; signing_input: string }
  return { challenge_id, signature: device.sign(signing_input) }
}
