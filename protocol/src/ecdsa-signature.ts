import { fromBase64url } from './v1/base64url.ts'

/**
 * Converts an ECDSA P-256 signature from DER to the 64 bytes r ‖ s of Web Crypto. Undefined unless it is strict DER: no
 * extra bytes, non-minimal lengths, negative integers or leading zeros.
 */
export function toP1363(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined
  const signature = new Uint8Array(64)
  let at = 2
  for (const end of [32, 64]) {
    const length = der[at + 1] ?? 0
    const bytes = der.subarray(at + 2, at + 2 + length)
    if (der[at] !== 0x02 || length === 0 || bytes.length !== length) return undefined
    const [first = 0, second = 0] = bytes
    const isNegative = first >= 0x80
    const isPadded = first === 0 && (length === 1 || second < 0x80)
    const digits = first === 0 ? bytes.subarray(1) : bytes
    if (isNegative || isPadded || digits.length > 32) return undefined
    signature.set(digits, end - digits.length)
    at += 2 + length
  }
  return at === der.length ? signature : undefined
}

/** Converts a Web Crypto signature to DER. */
export function toDer(p1363: Uint8Array): Uint8Array<ArrayBuffer> {
  if (p1363.length !== 64) throw new RangeError('an ECDSA P-256 signature has 64 bytes')
  const integers = [p1363.subarray(0, 32), p1363.subarray(32)].flatMap((half) => {
    const from = half.findIndex((byte) => byte !== 0)
    const digits = [...half.subarray(from === -1 ? 31 : from)]
    const signed = (digits[0] ?? 0) >= 0x80 ? [0, ...digits] : digits
    return [0x02, signed.length, ...signed]
  })
  return Uint8Array.from([0x30, integers.length, ...integers])
}

/** Whether the key signed the text: DER in base64url without padding. False for anything that is malformed. */
export async function isSignedText(
  text: string,
  signature: string,
  { kty, crv, x, y }: { kty: string; crv: string; x: string; y: string },
): Promise<boolean> {
  const der = signature.endsWith('=') ? undefined : fromBase64url(signature)
  const bytes = der && toP1363(der)
  if (!bytes) return false
  const { subtle } = crypto
  try {
    const curve = { name: 'ECDSA', namedCurve: 'P-256' }
    const key = await subtle.importKey('jwk', { kty, crv, x, y }, curve, false, ['verify'])
    return await subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, bytes, new TextEncoder().encode(text))
  } catch {
    return false
  }
}
