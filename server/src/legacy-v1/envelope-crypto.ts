/**
 * The primitives: RSA-OAEP with SHA-256 for the content key, AES-256-GCM for the content. All decryption failures look
 * the same and take the same work: if RSA fails, GCM is tried with a random key and fails too.
 */
import { webcrypto } from 'node:crypto'
import type { EnvelopeParts } from '@sallyport/protocol/v1/envelope'
import { contentKeyBytes, ivBytes, tagBytes } from '@sallyport/protocol/v1/envelope'
import type { RsaQueue } from './rsa-queue.ts'

const { subtle } = webcrypto
const oaep = { name: 'RSA-OAEP', hash: 'SHA-256' }
const aes = 'AES-GCM'

export type CryptoKey = webcrypto.CryptoKey

export function importPublicKey(spki: Uint8Array): Promise<CryptoKey> {
  return subtle.importKey('spki', spki, oaep, false, ['encrypt'])
}

export function importPrivateKey(pkcs8: Uint8Array): Promise<CryptoKey> {
  return subtle.importKey('pkcs8', pkcs8, oaep, false, ['decrypt'])
}

/** The length of an RSA ciphertext with this key. */
export function modulusBytes({ algorithm }: CryptoKey): number {
  return (algorithm as webcrypto.RsaHashedKeyAlgorithm).modulusLength / 8
}

/** Undefined if decryption fails, for any reason. */
export async function openParts(
  queue: RsaQueue,
  privateKey: CryptoKey,
  { encryptedKey, iv, ciphertext, tag, aad }: EnvelopeParts,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const spare = randomBytes(contentKeyBytes)
  const opened = await queue.run(() => subtle.decrypt(oaep, privateKey, encryptedKey).catch(() => new ArrayBuffer(0)))
  const contentKey = opened.byteLength === contentKeyBytes ? opened : spare
  const key = await subtle.importKey('raw', contentKey, aes, false, ['decrypt'])
  const sealed = new Uint8Array(ciphertext.length + tagBytes)
  sealed.set(ciphertext)
  sealed.set(tag, ciphertext.length)
  try {
    return new Uint8Array(await subtle.decrypt({ name: aes, iv, additionalData: aad }, key, sealed))
  } catch {
    return undefined
  }
}

export async function sealParts(
  queue: RsaQueue,
  publicKey: CryptoKey,
  plaintext: Uint8Array,
  { keyId, aad }: Pick<EnvelopeParts, 'keyId' | 'aad'>,
): Promise<EnvelopeParts> {
  const contentKey = randomBytes(contentKeyBytes)
  const iv = randomBytes(ivBytes)
  const encryptedKey = await queue.run(() => subtle.encrypt(oaep, publicKey, contentKey))
  const key = await subtle.importKey('raw', contentKey, aes, false, ['encrypt'])
  const sealed = new Uint8Array(await subtle.encrypt({ name: aes, iv, additionalData: aad }, key, plaintext))
  return {
    keyId,
    encryptedKey: new Uint8Array(encryptedKey),
    iv,
    ciphertext: sealed.slice(0, -tagBytes),
    tag: sealed.slice(-tagBytes),
    aad,
  }
}

function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return webcrypto.getRandomValues(new Uint8Array(length))
}
