/** How one setting is read and judged. `config.ts` says which there are. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Secret } from './secret.ts'

export type Environment = Record<string, string | undefined>

export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export interface Setting<T> {
  name: string
  /** null: no default; the setting is then absent. */
  fallback: string | null
  meaning: string
  /** Throws a TypeError whose message says what the setting takes. */
  parse: (value: string) => T
}

export function setting<T>(
  name: string,
  fallback: string | null,
  meaning: string,
  parse: (value: string) => T,
): Setting<T> {
  return { name, fallback, meaning, parse }
}

export function readSetting<T>(one: Setting<T>, env: Environment): T {
  const value = env[one.name] ?? one.fallback ?? ''
  try {
    return one.parse(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new ConfigError([`${one.name}: got "${value}"; takes ${error.message}.`])
  }
}

/** Where a secret comes from. It can be read again, because a file or a command may answer anew after a rotation. */
export interface SecretSource {
  name: string
  isSet: boolean
  /** The file it lies in, where it comes from one. */
  file: string | undefined
  read: () => Secret | undefined
}

export function readSecret(name: string, env: Environment): SecretSource {
  const given = [name, `${name}_FILE`, `${name}_COMMAND`].filter((variant) => env[variant])
  if (given.length > 1) throw new ConfigError([`${given.join(' and ')} are both set; give one of them.`])
  const file = env[`${name}_FILE`] || undefined
  const command = env[`${name}_COMMAND`] || undefined
  const read = () => {
    const value = file ? fromFile(name, file) : command ? fromCommand(name, command) : env[name]?.trim()
    return value ? new Secret(value) : undefined
  }
  if (given.length > 0 && read() === undefined) throw new ConfigError([`${given.join()} gives nothing.`])
  return { name, isSet: given.length > 0, file, read }
}

function fromFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    // What it names is not shown: it may be the secret itself, given under the wrong name.
    throw new ConfigError([`${name}_FILE names a file that can not be read (${errorCode(error)}).`])
  }
}

function fromCommand(name: string, command: string): string {
  try {
    return execFileSync('/bin/sh', ['-c', command], {
      encoding: 'utf8',
      timeout: 10_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch (error) {
    throw new ConfigError([`${name}_COMMAND failed (${errorCode(error)}).`])
  }
}

function errorCode(error: unknown): string {
  const { code, signal, status } = error as { code?: string; signal?: string | null; status?: number }
  return code ?? signal ?? (status === undefined ? 'unknown' : `exit ${status}`)
}
