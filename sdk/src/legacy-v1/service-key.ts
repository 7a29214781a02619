/** Fetches the service's public key. It is trusted only if its fingerprint is one of the pinned ones. */
import { LegacyError } from './errors.ts'
import { textIn } from './exchange.ts'
import type { Exchange } from './exchange.ts'
import { fingerprintOf, readPublicKey } from './keys.ts'
import type { Key } from './keys.ts'

export interface ServiceKey {
  key: Key
  fingerprint: string
}

export async function fetchServiceKey(exchange: Exchange, pinned: readonly string[]): Promise<ServiceKey> {
  const pem = textIn(await exchange('GET', '/v1/authai/public-key'), 'authai_public_key')
  const key = await readPublicKey(pem)
  const fingerprint = key && (await fingerprintOf(key))
  if (!key || !fingerprint || !pinned.includes(fingerprint)) {
    throw new LegacyError(
      'service_key_mismatch',
      `The service key does not match any pinned fingerprint: ${pinned.join(', ')}.`,
    )
  }
  return { key, fingerprint }
}
