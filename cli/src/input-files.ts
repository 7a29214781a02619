import { readFileSync } from 'node:fs'
import { codeOf } from './config-folder.ts'
import { usageError } from './failures.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

/** Reads a file. "-" is standard input. */
export async function readInput(shell: Shell, name: string, option: string): Promise<Buffer> {
  if (name === '-') return shell.stdin()
  try {
    return readFileSync(name)
  } catch (error) {
    throw usageError(`${option}: ${inLine(name)} can't be read (${codeOf(error)})`)
  }
}

/** Reads a one-line secret from a file. */
export async function readSecret(shell: Shell, name: string, option: string): Promise<string> {
  const secret = (await readInput(shell, name, option)).toString('utf8').trim()
  if (secret !== '' && !/\p{Cc}/u.test(secret)) return secret
  throw usageError(`${option}: ${inLine(name)} doesn't contain a secret on a single line`)
}

export function parseJson(text: string, option: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw usageError(`${option}: not valid JSON`)
  }
}
