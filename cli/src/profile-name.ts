import { usageError } from './failures.ts'
import { inLine } from './terminal-text.ts'

/** A name is part of a path, so it must not lead elsewhere. */
export function checkedName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name
  throw usageError(
    `"${inLine(name)}" is not a valid profile name: use up to 64 letters, digits, dots, underscores and hyphens`,
  )
}
