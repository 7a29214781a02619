import { Malformed } from './malformed.ts'

export type Members = Record<string, unknown>

/** An object with all required members and no unknown ones. */
export function membersOf(
  what: string,
  value: unknown,
  required: readonly string[],
  optional: readonly string[],
): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Malformed(`${what}: no object`)
  const missing = required.find((name) => !Object.hasOwn(value, name))
  if (missing !== undefined) throw new Malformed(`${what}: ${missing} is missing`)
  const isUnknown = Object.keys(value).some((name) => !required.includes(name) && !optional.includes(name))
  if (isUnknown) throw new Malformed(`${what}: a member that is not known`)
  return value as Members
}

export function literal<T extends string>(what: string, value: unknown, expected: T): T {
  if (value !== expected) throw new Malformed(`${what}: not ${expected}`)
  return expected
}

export function textOf(what: string, value: unknown, maxLength: number): string {
  if (typeof value !== 'string' || value === '' || value.length > maxLength) {
    throw new Malformed(`${what}: no text of 1 to ${maxLength} characters`)
  }
  if (!value.isWellFormed() || value.includes('\0')) throw new Malformed(`${what}: a character that is no text`)
  return value
}

/** Accepts upper and lower case and returns it unchanged. */
export function uuidOf(what: string, value: unknown): string {
  if (typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) return value
  throw new Malformed(`${what}: no uuid`)
}

/** ISO 8601 in UTC, with Z or +00:00 and up to nine fractional digits. */
export function timeOf(what: string, value: unknown): Date {
  const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?:Z|\+00:00)$/
  const seconds = typeof value === 'string' ? form.exec(value)?.[1] : undefined
  const time = new Date(seconds === undefined ? Number.NaN : (value as string))
  // Date parses February 30 as a day in March.
  if (Number.isNaN(time.getTime()) || !time.toISOString().startsWith(seconds ?? '')) {
    throw new Malformed(`${what}: no time in UTC`)
  }
  return time
}
