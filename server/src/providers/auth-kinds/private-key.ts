/** RSA private keys that people paste or upload, and the assertions that are signed with them (RFC 7523). */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { jwtTime, signJwt } from '../../platform/jwt.ts'
import type { Secret } from '../../platform/secret.ts'

const minBits = 2048
/** A longer key would take the process tens of milliseconds per signature. */
const maxBits = 4096

/** What is wrong with it, if something is. Contains nothing of it. */
export function wrongPrivateKey(pem: string): string | undefined {
  const key = readKey(pem)
  if (!key) return wrongPem(pem)
  if (key.asymmetricKeyType !== 'rsa') return 'is not an RSA key. Enter the RSA key that the provider created'
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < minBits || bits > maxBits) return `is an RSA key of ${bits} bits. It needs ${minBits} to ${maxBits}`
  return canSign(key) ? undefined : 'is damaged. Download the key again, or create another'
}

function wrongPem(pem: string): string {
  if (pem.includes('ENCRYPTED')) return 'is encrypted with a passphrase. Decrypt it first: openssl rsa -in key.pem'
  if (/-----BEGIN (?:(?:RSA )?PUBLIC KEY|CERTIFICATE)-----/.test(pem)) {
    return 'is a public key or a certificate. Enter the private key'
  }
  if (pem.includes('-----BEGIN OPENSSH PRIVATE KEY-----')) {
    return 'is an OpenSSH key. Enter the key that the provider created'
  }
  return 'is not a private key in PEM format. Enter all of the file, from -----BEGIN to the last -----'
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

/** Parsing doesn't tell whether its numbers belong together. */
function canSign(key: KeyObject): boolean {
  const text = Buffer.from('a text to sign')
  try {
    return verify('sha256', text, createPublicKey(key), sign('sha256', text, key))
  } catch {
    return false
  }
}

/** The key alone, without what stood around it in the file. PKCS#8. */
export function normalPrivateKey(pem: string): string {
  return createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Proves to the provider who asks for a token. */
export interface Assertion {
  jwt: Secret
  expiresAt: Date
}

/** Clocks differ: GitHub asks for this much, and refuses an assertion from the future. */
const backdatedSeconds = 60
/** GitHub accepts 10 minutes and Google an hour. It is used at once. */
const lifetimeSeconds = 300

export function signAssertion(
  { privateKey, keyId }: { privateKey: Secret; keyId?: string },
  claims: Record<string, string>,
  now: Date,
): Assertion {
  const issued = jwtTime(now)
  const key = createPrivateKey(privateKey.reveal())
  const times = { iat: issued - backdatedSeconds, exp: issued + lifetimeSeconds }
  return {
    jwt: signJwt({ alg: 'RS256', keyId, key }, { ...claims, ...times }),
    expiresAt: new Date((issued + lifetimeSeconds) * 1000),
  }
}
