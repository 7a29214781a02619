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
