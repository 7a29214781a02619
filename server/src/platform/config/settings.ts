/** How settings are read from the environment, and the kinds of values that they take. */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseRange } from '@sallyport/protocol/public-address'
import { parseAllowEntry } from '../egress/destinations.ts'
import type { AllowEntry } from '../egress/destinations.ts'
import { isLoopbackName } from '../egress/loopback-http.ts'
import { Secret } from '../secret.ts'

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
  /** null: no default; the setting is then absent. */
  fallback: string | null
  meaning: string
  /** Throws a TypeError whose message says what the setting takes. */
  parse: (value: string) => T
}

export function setting<T>(fallback: string | null, meaning: string, parse: (value: string) => T): Setting<T> {
  return { fallback, meaning, parse }
}

/** What a setting is called in the code: `bodyBytes` for `SALLYPORT_BODY_BYTES`. */
type Member<Name> = Name extends `SALLYPORT_${infer Rest}` ? CamelCase<Rest> : CamelCase<Name>
type CamelCase<Words> = Words extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Words & string>

export function memberOf(name: string): string {
  const words = name.replace(/^SALLYPORT_/, '').toLowerCase()
  return words.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The values of plain settings, and the sources of secret ones. */
export type ValuesOf<Plain extends Record<string, Setting<unknown>>, Secrets> = {
  [Name in keyof Plain as Member<Name>]: ReturnType<Plain[Name]['parse']>
} & { [Name in keyof Secrets as Member<Name>]: SecretSource }

export function readSetting<T>(name: string, { fallback, parse }: Setting<T>, env: Environment): T {
  const value = env[name] ?? fallback ?? ''
  try {
    return parse(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new ConfigError([`${name}: got "${value}"; expected ${error.message}.`])
  }
}

/** Where a secret comes from. It is read anew each time: after a rotation the file or command gives another value. */
export interface SecretSource {
  name: string
  isSet: boolean
  /** The path of the file that holds it, if it comes from a file. */
  file: string | undefined
  read: () => Secret | undefined
}

export function readSecret(name: string, env: Environment): SecretSource {
  const given = [name, `${name}_FILE`, `${name}_COMMAND`].filter((variant) => env[variant])
  if (given.length > 1) throw new ConfigError([`${given.join(' and ')} are both set; use only one of them.`])
  const file = env[`${name}_FILE`] || undefined
  const command = env[`${name}_COMMAND`] || undefined
  const read = () => {
    const value = file ? fromFile(name, file) : command ? fromCommand(name, command) : env[name]?.trim()
    return value ? new Secret(value) : undefined
  }
  if (given.length > 0 && read() === undefined) throw new ConfigError([`${given.join()} is empty.`])
  return { name, isSet: given.length > 0, file, read }
}

function fromFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    // The path is not shown: it may be the secret itself, set under the wrong name.
    throw new ConfigError([`${name}_FILE names a file that cannot be read (${errorCode(error)}).`])
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

/** Reports settings that are missing although others that are only useful together with them are set. */
export function incomplete(what: string, names: readonly string[], config: object): string[] {
  const isSet = (name: string) => {
    const value = (config as Record<string, Partial<SecretSource> | undefined>)[memberOf(name)]
    return value?.isSet ?? value !== undefined
  }
  const given = names.filter(isSet)
  const missing = names.filter((name) => !isSet(name))
  if (missing.length === 0 || given.length === 0) return []
  return [`${missing.join(' and ')}: not set; ${what} requires it together with ${given.join(' and ')}.`]
}

// Kinds of values. Each parses a setting's text, or throws a TypeError that says what the setting takes.

export function text(value: string): string {
  if (value.trim() === '') throw new TypeError('some text')
  return value
}

export function optional<T>(parse: (value: string) => T): (value: string) => T | undefined {
  return (value) => (value === '' ? undefined : parse(value))
}

export function integer(minimum: number, maximum: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,12}$/.test(value) ? Number(value) : NaN
    if (!(number >= minimum && number <= maximum)) throw new TypeError(`a whole number from ${minimum} to ${maximum}`)
    return number
  }
}

export function portOrOff(value: string): number | 'off' {
  if (value === 'off') return value
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0
  if (port < 1 || port > 65_535) throw new TypeError('off, or a whole number from 1 to 65535')
  return port
}

export function oneOf<const C extends readonly string[]>(...choices: C): (value: string) => C[number] {
  return (value) => {
    if (!choices.includes(value)) throw new TypeError(`one of ${choices.join(', ')}`)
    return value
  }
}

export function addressOrName(value: string): string {
  if (isIP(value) === 0 && !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value))
    throw new TypeError('an IP address or a host name')
  return value
}

function url(isRight: (url: URL) => boolean, expected: string): (value: string) => URL {
  return (value) => {
    const parsed = URL.parse(value)
    if (!parsed || !isRight(parsed)) throw new TypeError(expected)
    return parsed
  }
}

export const baseUrl = url(
  ({ protocol, href, origin }) => /^https?:$/.test(protocol) && href === `${origin}/`,
  'an http or https URL without a path, such as https://sallyport.example.com',
)

export const otlpEndpoint = url(
  ({ protocol, hostname, href, origin, pathname }) =>
    (protocol === 'https:' || (protocol === 'http:' && isLoopbackName(hostname))) && href === origin + pathname,
  'an https URL without a query, such as https://collector.example.com:4318, or http on this machine, such as http://localhost:4318',
)

export const httpsOrigin = url(
  ({ protocol, href, origin }) => protocol === 'https:' && href === `${origin}/`,
  'an https URL without a path, such as https://github.example.com',
)

/** OIDC Discovery §3: https, with neither query nor fragment; a path is common. */
export const issuer = url(
  ({ protocol, href, origin, pathname: path }) =>
    protocol === 'https:' && href === origin + path && !path.includes('/.well-known/'),
  'an https URL without a query or fragment, such as https://login.example.com/realms/us',
)

export function flag(value: string): boolean {
  return oneOf('0', '1')(value) === '1'
}

function entriesOf(value: string): string[] {
  return value === '' ? [] : value.split(',').map((entry) => entry.trim())
}

export function origins(value: string): string[] {
  const list = entriesOf(value)
  if (list.every((entry) => URL.parse(entry)?.origin === entry)) return list
  throw new TypeError('origins such as https://app.example.com, separated by commas')
}

export function addresses(value: string): string[] {
  const list = entriesOf(value)
  if (list.every((entry) => parseRange(entry))) return list
  throw new TypeError('IP addresses or CIDR ranges that start at their first address (10.0.0.0/8), separated by commas')
}

export function names(value: string): string[] {
  const list = entriesOf(value)
  if (list.every((entry) => /^[a-z0-9][a-z0-9-]*$/.test(entry))) return list
  throw new TypeError('names in lower case such as github,acme, separated by commas')
}

export function egressAllow(value: string): AllowEntry[] {
  return entriesOf(value).map(parseAllowEntry)
}

/** Read at the start: a file that goes missing later must not change whom the service trusts. */
export function certificates(value: string): { pem: string } {
  try {
    const pem = readFileSync(value, 'utf8')
    const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    if (found.length > 0 && found.every((one) => new X509Certificate(one).ca)) return { pem: found.join('\n') }
  } catch {
    // Reported below, with what the setting takes.
  }
  throw new TypeError('the path of a readable PEM file of CA certificates')
}
