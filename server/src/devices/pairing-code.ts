/** Eight characters of Crockford's base32: short enough to type, valid once and for ten minutes. */
export interface PairingCode {
  userId: string
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
}

/** Without I, L, O and U, which are easily misread. */
export const pairingAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
export const pairingLength = 8

const wellFormed = new RegExp(`^[${pairingAlphabet}]{${pairingLength}}$`)

/**
 * Normalizes a typed code: ignores case and dashes, and corrects look-alike characters. Undefined if it is not a code.
 */
export function readPairingCode(text: string): string | undefined {
  if (!/^[0-9A-Za-z -]*$/.test(text)) return undefined
  const code = text.replaceAll(/[ -]/g, '').toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  return wellFormed.test(code) ? code : undefined
}

export function showPairingCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}
