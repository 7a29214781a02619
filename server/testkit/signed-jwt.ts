import { verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

export interface SignedJwt {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

/** Undefined if the signature is not valid. */
export function readJwt(text: string, key: KeyObject): SignedJwt | undefined {
  const [header = '', claims = '', signature = ''] = text.split('.')
  const signed = Buffer.from(`${header}.${claims}`)
  const isSigned = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))
  const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
  return isSigned ? { header: parse(header), claims: parse(claims) } : undefined
}
