/** AES-256-GCM with a random nonce, as one value: version ‖ nonce ‖ tag ‖ ciphertext. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const version = 1
const nonceBytes = 12
const tagBytes = 16
const headerBytes = 1 + nonceBytes + tagBytes

/** All decryption failures look the same. */
export class DoesNotOpen extends Error {
  constructor() {
    super('a sealed value does not open')
    this.name = 'DoesNotOpen'
  }
}

export function sealBytes(key: KeyObject, associated: string, plain: Uint8Array): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(associated))
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), ciphertext])
}

export function openBytes(key: KeyObject, associated: string, sealed: Uint8Array): Buffer {
  if (sealed.length < headerBytes || sealed[0] !== version) throw new DoesNotOpen()
  const nonce = sealed.subarray(1, 1 + nonceBytes)
  const tag = sealed.subarray(1 + nonceBytes, headerBytes)
  try {
    // Without authTagLength, a tag of four bytes would be accepted.
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(associated)).setAuthTag(tag)
    return Buffer.concat([decipher.update(sealed.subarray(headerBytes)), decipher.final()])
  } catch {
    throw new DoesNotOpen()
  }
}
