/** Takes credentials out of what comes back. One engine for header text and bodies alike: both are bytes to it. */
import { isRedactable, redacted } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'

export interface Redactor {
  text: (value: string) => string
  /** The name in lower case. What makes a header's name may change its case on the way. */
  headerName: (value: string) => string
  bytes: (value: Buffer) => Buffer
  /** How many were taken out so far. */
  count: () => number
}

export function createRedactor(secrets: readonly Secret[]): Redactor {
  const revealed = secrets
    .filter(isRedactable)
    .map((secret) => secret.reveal())
    // One that is part of another would otherwise leave the other's rest behind.
    .sort((one, other) => other.length - one.length)
  const needles = revealed.map(toBytesText)
  const lowerCaseNeedles = revealed.map((value) => toBytesText(value.toLowerCase()))
  let count = 0
  const redact = (value: string, from: string[]): string =>
    from.reduce((rest, needle) => {
      const parts = rest.split(needle)
      count += parts.length - 1
      return parts.join(redacted)
    }, value)
  return {
    text: (value) => fromBytesText(redact(toBytesText(value), needles)),
    headerName: (value) => fromBytesText(redact(toBytesText(value.toLowerCase()), lowerCaseNeedles)),
    bytes: (value) => Buffer.from(redact(value.toString('latin1'), needles), 'latin1'),
    count: () => count,
  }
}

/** In Latin-1 every byte is one character, so that text search works on any bytes. */
function toBytesText(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1')
}

function fromBytesText(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8')
}
