/** Eight characters of Crockford's base32: short enough to be typed, for ten minutes and one use. */
export interface PairingCode {
  userId: string
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
}

/** No I, L, O or U, which are taken for others. */
export const pairingAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
export const pairingLength = 8

const wellFormed = new RegExp(`^[${pairingAlphabet}]{${pairingLength}}$`)

/** What was typed, as it was issued: in any case, with or without the dash, look-alikes forgiven. Undefined: no code. */
export function readPairingCode(text: string): string | undefined {
  if (!/^[0-9A-Za-z -]*$/.test(text)) return undefined
  const code = text.replaceAll(/[ -]/g, '').toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  return wellFormed.test(code) ? code : undefined
}

export function showPairingCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}
