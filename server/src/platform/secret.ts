import { inspect } from 'node:util'

export const redacted = '[REDACTED]'

/**
 * A credential in memory. Whatever prints, joins or serialises it gets `[REDACTED]`;
 * only `reveal()` opens it, and architecture.test.ts lists the files that may call that.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  get length(): number {
    return this.#value.length
  }

  matches(pattern: RegExp): boolean {
    return pattern.test(this.#value)
  }

  toString(): string {
    return redacted
  }

  toJSON(): string {
    return redacted
  }

  [Symbol.toPrimitive](): string {
    return redacted
  }

  [inspect.custom](): string {
    return redacted
  }
}

/** Shorter secrets can't be redacted without also removing unrelated text. */
export const minRedactable = 16

export function isRedactable(secret: Secret): boolean {
  return secret.length >= minRedactable
}
