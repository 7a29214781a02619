import { Malformed } from './malformed.ts'

/**
 * Normalized to NFC, trimmed and lower-cased. Then at most 128 letters, digits and `._:/-`, starting with a letter or
 * digit.
 */
export function normalizeNamespace(value: unknown): string {
  const namespace = typeof value === 'string' && value.length <= 1000 ? value.normalize('NFC').trim().toLowerCase() : ''
  if (!/^[a-z0-9][a-z0-9._:/-]{0,127}$/.test(namespace)) throw new Malformed('namespace: not of the form of one')
  return namespace
}
