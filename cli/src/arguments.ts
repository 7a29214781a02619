/** Parses a command line by the command's description. Errors are one line. */
import { parseArgs } from 'node:util'
import { commonOptions } from './command.ts'
import type { Command, OptionSpec, OptionSpecs, Repeated } from './command.ts'
import { usageError } from './failures.ts'
import { nearest } from './nearest.ts'

import { inLine } from './terminal-text.ts'

export interface Parsed {
  options: Record<string, unknown>
  operands: string[]
  /** The values of options that may be repeated, in the order of the command line. */
  repeated: Repeated[]
}

/** Any token that the service issues. Every user of the machine could read it on a command line. */
const issuedToken = /sp_(?:admin|agent|connect|device|login|prelogin|sandbox|session)_[0-9A-Za-z]{20,}/

export function refuseTokens(words: string[]): void {
  if (!words.some((word) => issuedToken.test(word))) return
  throw usageError(
    "don't pass a token on the command line, where other users of this machine can read it",
    'Set SALLYPORT_AGENT_TOKEN, SALLYPORT_ADMIN_TOKEN or SALLYPORT_SESSION_TOKEN, or save it: sallyport profile set --help, sallyport login --help',
  )
}

/** Without the program that `sallyport run` is given. */
export function ownWords(words: string[]): string[] {
  const at = words.indexOf('--')
  return at === -1 ? words : words.slice(0, at)
}

export function parseWords(command: Command, words: string[]): Parsed {
  const specs: OptionSpecs = { ...commonOptions, ...command.options }
  const { tokens } = parseArgs({
    args: command.takesProgram ? ownWords(words) : words,
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(specs).map(([name, { type, short }]) => [
        name,
        {
          type: type === 'boolean' ? ('boolean' as const) : ('string' as const),
          multiple: type === 'texts',
          ...(short !== undefined && { short }),
        },
      ]),
    ),
  })
  const options: Record<string, unknown> = Object.fromEntries(
    Object.entries(specs).map(([name, { type }]) => [
      name,
      type === 'boolean' ? false : type === 'texts' ? [] : undefined,
    ]),
  )
  const operands: string[] = []
  const repeated: Repeated[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined
    if (!spec) throw unknownOption(command, token.rawName, specs)
    const value = valueOf(spec, token.rawName, token.value, token.inlineValue)
    if (spec.type === 'texts') {
      ;(options[token.name] as unknown[]).push(value)
      repeated.push({ option: token.name, value: String(value) })
    } else if (options[token.name] !== undefined && options[token.name] !== false) {
      throw usageError(`${token.rawName} was given twice`)
    } else options[token.name] = value
  }
  if (options['help'] === true) return { options, operands, repeated }
  if (!command.takesProgram) checkOperands(command, operands)
  else if (operands.length > 0)
    throw usageError(`write -- before the command: sallyport ${command.name} -- ${inLine(operands.join(' '))}`)
  else operands.push(...words.slice(ownWords(words).length + 1))
  return { options, operands, repeated }
}

function valueOf(spec: OptionSpec, name: string, value: string | undefined, isInline: boolean | undefined): unknown {
  if (spec.type === 'boolean') {
    if (value !== undefined) throw usageError(`${name} takes no value`)
    return true
  }
  // `-X --json`: the value is missing. A value that starts with a hyphen is written --option=-value.
  if (value === undefined || (isInline !== true && /^--?[a-z]/i.test(value))) {
    throw usageError(`${name} needs a value (${spec.value ?? 'TEXT'})`)
  }
  if (spec.choices && !spec.choices.includes(value)) {
    throw usageError(`${name}: got "${inLine(value)}"; expected one of ${spec.choices.join(', ')}`)
  }
  if (spec.type !== 'number') return value
  const [least, most] = spec.range ?? [0, Number.MAX_SAFE_INTEGER]
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= least && number <= most)) {
    throw usageError(`${name}: got "${inLine(value)}"; expected a whole number from ${least} to ${most}`)
  }
  return number
}

function unknownOption({ onStrayWord }: Command, given: string, specs: OptionSpecs): Error {
  const names = Object.entries(specs).flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])])
  const meant = given.startsWith('--') ? nearest(given, names) : undefined
  if (onStrayWord && meant === undefined) return onStrayWord()
  return usageError(`unknown option ${inLine(given)}${meant ? `; did you mean ${meant}?` : ''}`)
}

function checkOperands({ operands: specs, onStrayWord }: Command, operands: string[]): void {
  const missing = specs.find(({ isOptional }, at) => isOptional !== true && operands[at] === undefined)
  if (missing) throw usageError(`<${missing.name}> is missing: ${missing.summary}`)
  const extra = operands[specs.length]
  if (extra !== undefined && onStrayWord) throw onStrayWord()
  if (extra !== undefined) throw usageError(`"${inLine(extra)}" is an unexpected argument`)
}
