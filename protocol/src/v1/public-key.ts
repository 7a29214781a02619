import { toBase64url } from './base64url.ts'

/**
 * A public key's fingerprint. Computed from its SPKI in DER, so that it does not depend on how the PEM is formatted.
 */
export async function publicKeyFingerprint(spki: Uint8Array): Promise<string> {
  return `SHA256:${toBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(spki))))}`
}

/** Formats SPKI in DER as PEM: lines of 64 characters, ending with a line break. */
export function toPem(spki: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...spki))
  return `-----BEGIN PUBLIC KEY-----\n${base64.replaceAll(/.{1,64}/g, '$&\n')}-----END PUBLIC KEY-----\n`
}

/** The DER of a PEM. Undefined if it is not PEM. Does not check that it contains a key. */
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
