/**
 * Encoded in chunks: a large body would exceed the argument limit of a function call. A multiple of three, so that only
 * the last chunk has padding.
 */
const pieceBytes = 3 * 8192

/** Base64 with padding (RFC 4648 §4). */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + pieceBytes)))
  }
  return text
}
