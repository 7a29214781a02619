import { sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { Secret } from './secret.ts'

/** RFC 7519, signed as RFC 7518 §3.3 and §3.4 say. */
export function signJwt(
  { alg, keyId, key }: { alg: 'ES256' | 'RS256'; keyId?: string | undefined; key: KeyObject },
  claims: Record<string, string | number>,
): Secret {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg, ...(keyId !== undefined && { kid: keyId }), typ: 'JWT' })}.${part(claims)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return new Secret(`${signed}.${signature.toString('base64url')}`)
}

/** Seconds since 1970, as a JWT counts. */
export function jwtTime(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}
