/** Takes credentials out of what comes back. One engine for header text and bodies alike: both are bytes to it. */
import { redacted } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'

export interface Redactor {
  text: (value: string) => string
  bytes: (value: Buffer) => Buffer
  /** How many were taken out so far. */
  count: () => number
}

/** Shorter ones would be found where they are not. */
export const minSecretLength = 16

export function createRedactor(secrets: readonly Secret[]): Redactor {
  // In Latin-1 every byte is one character, so that text search works on any bytes.
  const needles = secrets
    .map((secret) => Buffer.from(secret.reveal(), 'utf8').toString('latin1'))
    .filter((needle) => needle.length >= minSecretLength)
  let count = 0
  const redact = (value: string): string =>
    needles.reduce((rest, needle) => {
      const parts = rest.split(needle)
      count += parts.length - 1
      return parts.join(redacted)
    }, value)
  return {
    text: (value) => Buffer.from(redact(Buffer.from(value, 'utf8').toString('latin1')), 'latin1').toString('utf8'),
    bytes: (value) => Buffer.from(redact(value.toString('latin1')), 'latin1'),
    count: () => count,
  }
}
