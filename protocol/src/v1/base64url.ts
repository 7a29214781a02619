/** Bytes in base64url without padding (RFC 4648 §5). */
export function toBase64url(bytes: Uint8Array): string {
  let binary = ''
  // In pieces: a call with a million arguments runs out of stack.
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Undefined where the text is not exactly as {@link toBase64url} writes it: padding, stray characters, stray bits. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  // The last character may carry bits that belong to no byte: the same bytes could then be written in several ways.
  const tail = bytes.subarray(bytes.length - (bytes.length % 3))
  return text.endsWith(toBase64url(tail)) ? bytes : undefined
}
