import { toBase64url } from '@sallyport/protocol/v1/base64url'
import { fromPem, toPem } from '@sallyport/protocol/v1/public-key'

/** `CryptoKey`, spelled so that it compiles with the types of every runtime. */
export type Key = InstanceType<typeof CryptoKey>

/** A client's key pair: a Web Crypto `CryptoKeyPair` for RSA-OAEP with SHA-256. */
export interface ClientKey {
  publicKey: Key
  privateKey: Key
}

const algorithm = { name: 'RSA-OAEP', hash: 'SHA-256' }
const header = '-----BEGIN PRIVATE KEY-----'
const footer = '-----END PRIVATE KEY-----'

/** Creates a key. Its private key can be exported, so that it can be stored. */
export async function generateClientKey(bits: 2048 | 3072 | 4096 = 3072): Promise<ClientKey> {
  const parameters = { ...algorithm, modulusLength: bits, publicExponent: new Uint8Array([1, 0, 1]) }
  return await crypto.subtle.generateKey(parameters, true, ['encrypt', 'decrypt'])
}

/** Exports the private key as PKCS#8 PEM. Store it where no agent, prompt or log can see it. */
export async function exportClientKey({ privateKey }: ClientKey): Promise<string> {
  const der = new Uint8Array(await crypto.subtle.exportKey('pkcs8', privateKey))
  const base64 = btoa(String.fromCharCode(...der))
  return `${header}\n${base64.replaceAll(/.{1,64}/g, '$&\n')}${footer}\n`
}

/**
 * Imports PKCS#8 PEM, as written by {@link exportClientKey} or `openssl genpkey`. The imported private key can't be
 * exported again.
 */
export async function importClientKey(pem: string): Promise<ClientKey> {
  const text = pem.trim()
  if (!text.startsWith(header) || !text.endsWith(footer)) {
    throw new TypeError('A client key must be PKCS#8 PEM, starting with BEGIN PRIVATE KEY.')
  }
  const base64 = text.slice(header.length, -footer.length).replaceAll(/\s/g, '')
  const der = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  const whole = await crypto.subtle.importKey('pkcs8', der, algorithm, true, ['decrypt'])
  const { n = '', e = '' } = await crypto.subtle.exportKey('jwk', whole)
  return {
    publicKey: await crypto.subtle.importKey('jwk', { kty: 'RSA', n, e }, algorithm, true, ['encrypt']),
    privateKey: await crypto.subtle.importKey('pkcs8', der, algorithm, false, ['decrypt']),
  }
}

/** Undefined if it is not an RSA key. */
export async function readPublicKey(pem: string): Promise<Key | undefined> {
  const der = fromPem(pem)
  return der && crypto.subtle.importKey('spki', der, algorithm, true, ['encrypt']).catch(() => undefined)
}

export async function spkiOf(key: Key): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.exportKey('spki', key))
}

export async function publicPem(key: Key): Promise<string> {
  return toPem(await spkiOf(key))
}

export async function fingerprintOf(key: Key): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', await spkiOf(key))
  return `SHA256:${toBase64url(new Uint8Array(hash))}`
}
