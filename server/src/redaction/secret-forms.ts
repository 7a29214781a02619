/** What is searched for. Made once for a set of secrets and kept between calls: it is a credential itself. */
import { isRedactable } from '../platform/secret.ts'
import type { Secret } from '../platform/secret.ts'

export interface SecretForms {
  readonly needles: readonly string[]
  readonly lowerCaseNeedles: readonly string[]
}

export function compileSecrets(secrets: readonly Secret[]): SecretForms {
  const revealed = secrets
    .filter(isRedactable)
    .map((secret) => secret.reveal())
    // One that is part of another would otherwise leave the other's rest behind.
    .sort((one, other) => other.length - one.length)
  return {
    needles: revealed.map(toBytesText),
    lowerCaseNeedles: revealed.map((value) => toBytesText(value.toLowerCase())),
  }
}

/** In Latin-1 every byte is one character, so that text search works on any bytes. */
function toBytesText(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1')
}
