import { Malformed } from './malformed.ts'

/** NFC, trimmed, lower-cased; then letters, digits and `._:/-`, at most 128, a letter or digit first. */
export function normalizeNamespace(value: unknown): string {
  const namespace = typeof value === 'string' && value.length <= 1000 ? value.normalize('NFC').trim().toLowerCase() : ''
  if (!/^[a-z0-9][a-z0-9._:/-]{0,127}$/.test(namespace)) throw new Malformed('namespace: not of the form of one')
  return namespace
}
