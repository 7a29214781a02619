/**
 * Encrypts to a public key and decrypts with a private key. A decrypted envelope was meant for this key and was not
 * modified.
 */
import { aadBytes } from '@sallyport/protocol/v1/binding'
import {
  contentKeyBytes,
  ivBytes,
  maxResultCiphertextBytes,
  readEnvelope,
  tagBytes,
  writeEnvelope,
} from '@sallyport/protocol/v1/envelope'
import type { Envelope } from '@sallyport/protocol/v1/envelope'
import type { Key } from './keys.ts'

/** The binding is required: this client never seals an envelope that is not bound to its request. */
export async function seal(key: Key, message: object, binding: string): Promise<Envelope> {
  const contentKey = crypto.getRandomValues(new Uint8Array(contentKeyBytes))
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes))
  const aad = aadBytes(binding)
  const cipher = await crypto.subtle.importKey('raw', contentKey, 'AES-GCM', false, ['encrypt'])
  const plaintext = new TextEncoder().encode(JSON.stringify(message))
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: aad }, cipher, plaintext)
  return writeEnvelope({
    keyId: undefined,
    encryptedKey: new Uint8Array(await crypto.subtle.encrypt('RSA-OAEP', key, contentKey)),
    iv,
    ciphertext: new Uint8Array(sealed.slice(0, -tagBytes)),
    tag: new Uint8Array(sealed.slice(-tagBytes)),
    aad,
  })
}

/**
 * The decrypted message, or undefined if the envelope is invalid in any way. `binding` is the expected associated data.
 */
export async function openEnvelope(key: Key, envelope: unknown, binding?: string): Promise<object | undefined> {
  try {
    const { parts } = readEnvelope(envelope, maxResultCiphertextBytes)
    if (binding !== undefined && new TextDecoder().decode(parts.aad) !== binding) return undefined
    const contentKey = await crypto.subtle.decrypt('RSA-OAEP', key, parts.encryptedKey)
    if (contentKey.byteLength !== contentKeyBytes) return undefined
    const cipher = await crypto.subtle.importKey('raw', contentKey, 'AES-GCM', false, ['decrypt'])
    const sealed = new Uint8Array(parts.ciphertext.length + tagBytes)
    sealed.set(parts.ciphertext)
    sealed.set(parts.tag, parts.ciphertext.length)
    const options = { name: 'AES-GCM', iv: parts.iv, additionalData: parts.aad }
    const plaintext = await crypto.subtle.decrypt(options, cipher, sealed)
    const message: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plaintext))
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? message : undefined
  } catch {
    return undefined
  }
}
