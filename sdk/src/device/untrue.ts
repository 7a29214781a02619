/** What the service asks to sign is not what it claims to be, so nothing is signed. */
import { SallyportError } from '../errors.ts'

export function untrue(message: string): SallyportError {
  return new SallyportError('unexpected_answer', message)
}

/** The text to sign. */
export function textOf(message: () => string): string {
  try {
    return message()
  } catch {
    throw untrue('The challenge is malformed.')
  }
}
