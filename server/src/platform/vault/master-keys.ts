import { createHash, createSecretKey, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { Secret } from '../secret.ts'

export interface MasterKey {
  /** A hash of the key. It says which master key a data key is encrypted with. */
  id: string
  key: KeyObject
  text: Secret
}

const keyBytes = 32

export function newMasterKey(): MasterKey {
  return toMasterKey(randomBytes(keyBytes).toString('base64url'))
}

/** The first key encrypts; the others only decrypt, during a rotation. */
export function parseMasterKeys(secret: Secret): MasterKey[] {
  const keys = secret
    .reveal()
    .split(/[\s,]+/)
    .filter((text) => text !== '')
    .map(toMasterKey)
  if (keys.length === 0) throw new TypeError('a master key is empty')
  return keys
}

export function formatMasterKeys(keys: readonly MasterKey[]): Secret {
  return new Secret(keys.map(({ text }) => text.reveal()).join('\n') + '\n')
}

function toMasterKey(text: string): MasterKey {
  const isHex = /^[0-9a-f]{64}$/i.test(text)
  const bytes = isHex ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64')
  if (bytes.length !== keyBytes || (!isHex && !/^[A-Za-z0-9+/_-]{43}=?$/.test(text))) {
    throw new TypeError('a master key is not 32 bytes in base64 or hex')
  }
  const id = createHash('sha256').update('sallyport master key id').update(bytes).digest('hex').slice(0, 16)
  return { id, key: createSecretKey(bytes), text: new Secret(text) }
}
