import { usageError } from './failures.ts'
import { inLine } from './terminal-text.ts'

/** A name is a part of a path: nothing that leads elsewhere. */
export function checkedName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name
  throw usageError(
    `"${inLine(name)}" is not a valid profile name: use up to 64 letters, digits, dots, underscores and hyphens`,
  )
}
