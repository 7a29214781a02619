/** Base64url without padding (RFC 4648 §5), with lookup tables: `btoa` is slow for envelopes of megabytes. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const codes = Uint8Array.from(alphabet, (character) => character.charCodeAt(0))
const none = 64
const values = new Uint8Array(128).fill(none)
for (const [value, code] of codes.entries()) values[code] = value

const ascii = new TextDecoder()

export function toBase64url(bytes: Uint8Array): string {
  const { length } = bytes
  const text = new Uint8Array(Math.ceil((length * 4) / 3))
  let written = 0
  for (let at = 0; at < length; at += 3) {
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    // With fewer than three bytes left, writes past the end of `text` are ignored.
    for (let shift = 18; shift >= 0; shift -= 6) text[written++] = codes[(bits >> shift) & 63] as number
  }
  return ascii.decode(text)
}

/**
 * Decodes {@link toBase64url}'s output, with or without padding (RFC 4648 §3.2). Undefined for anything else: wrong
 * padding, invalid characters, non-zero trailing bits.
 */
export function fromBase64url(padded: string): Uint8Array<ArrayBuffer> | undefined {
  const text = withoutPadding(padded)
  const { length } = text
  if (length % 4 === 1) return undefined
  const bytes = new Uint8Array(Math.floor((length * 3) / 4))
  let bits = 0
  let written = 0
  for (let at = 0; at < length; at++) {
    const value = values[text.charCodeAt(at)] ?? none
    if (value === none) return undefined
    bits = (bits << 6) | value
    const place = at % 4
    // Every character except the first of four completes a byte.
    if (place > 0) bytes[written++] = (bits >> (6 - 2 * place)) & 0xff
  }
  // Refuse non-zero trailing bits: the same bytes would have several encodings.
  const stray = length % 4 === 2 ? 0b1111 : length % 4 === 3 ? 0b11 : 0
  return (bits & stray) === 0 ? bytes : undefined
}

/** Unchanged if the padding has the wrong length: `=` is then an invalid character. */
function withoutPadding(text: string): string {
  if (text.length % 4 !== 0) return text
  return text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text
}
