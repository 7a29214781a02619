import { toBase64url } from './base64url.ts'

/** A public key's fingerprint: of its SPKI in DER, so that however a PEM was written, one key has one fingerprint. */
export async function publicKeyFingerprint(spki: Uint8Array): Promise<string> {
  return `SHA256:${toBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(spki))))}`
}

/** SPKI in DER as the PEM that the service hands out: lines of 64 characters, a line break at the end. */
export function toPem(spki: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...spki))
  return `-----BEGIN PUBLIC KEY-----\n${base64.replaceAll(/.{1,64}/g, '$&\n')}-----END PUBLIC KEY-----\n`
}

/** The DER of such a PEM; undefined where it is none. Whether it holds a key, is for who imports it to say. */
export function fromPem(pem: string): Uint8Array<ArrayBuffer> | undefined {
  const form = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/
  const base64 = form.exec(pem)?.[1]?.replaceAll(/\s/g, '')
  if (base64 === undefined) return undefined
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
