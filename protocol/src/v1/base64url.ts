/** Base64url without padding (RFC 4648 §5), by tables: an envelope may hold megabytes, and `btoa` is slow at them. */
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
    // Where fewer than three bytes are left, what is written past the end of `text` is dropped.
    for (let shift = 18; shift >= 0; shift -= 6) text[written++] = codes[(bits >> shift) & 63] as number
  }
  return ascii.decode(text)
}

/**
 * Reads what {@link toBase64url} writes, with or without the padding of RFC 4648 §3.2. Undefined for anything else: padding
 * of another length, stray characters, stray bits.
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
    // Each but the first character of four completes a byte.
    if (place > 0) bytes[written++] = (bits >> (6 - 2 * place)) & 0xff
  }
  // The last character may carry bits that belong to no byte: the same bytes could then be written in several ways.
  const stray = length % 4 === 2 ? 0b1111 : length % 4 === 3 ? 0b11 : 0
  return (bits & stray) === 0 ? bytes : undefined
}

/** As it was where the padding is not what completes the last four characters: `=` is then a stray character. */
function withoutPadding(text: string): string {
  if (text.length % 4 !== 0) return text
  return text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text
}
