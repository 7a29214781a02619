/** A command as data: parsing, help and completion all use this description. */
import type { Shell } from './shell.ts'

export interface OptionSpec {
  /** `texts` may be given several times. */
  type: 'boolean' | 'text' | 'texts' | 'number'
  summary: string
  short?: string
  /** Name of the value in the help. */
  value?: string
  choices?: readonly string[]
  /** Minimum and maximum of a number. */
  range?: readonly [number, number]
}

export type OptionSpecs = Record<string, OptionSpec>

type ValueOf<S extends OptionSpec> = S['type'] extends 'boolean'
  ? boolean
  : S['type'] extends 'texts'
    ? string[]
    : S['type'] extends 'number'
      ? number | undefined
      : string | undefined

export type Values<O extends OptionSpecs> = { [K in keyof O]: ValueOf<O[K]> }

export interface OperandSpec {
  name: string
  summary: string
  isOptional?: true
}

interface CommandSpec<O extends OptionSpecs> {
  /** For example `providers add`. */
  name: string
  group: 'agent' | 'person' | 'operator' | 'setup'
  summary: string
  /** Details beyond the summary. */
  about?: string
  operands?: readonly OperandSpec[]
  options?: O
  /** Words after `--` are another program and its arguments: they become the operands. */
  takesProgram?: true
  /** The error for an unexpected argument or option, which may be a secret and is not repeated. */
  onStrayWord?: () => Error
  /** Command lines and what they do. */
  examples: readonly (readonly [string, string])[]
  run: (
    shell: Shell,
    options: Values<O>,
    operands: string[],
    repeated: readonly Repeated[],
  ) => Promise<number | undefined>
}

/** One value of a repeatable option. */
export interface Repeated {
  option: string
  value: string
}

export interface Command {
  name: string
  group: CommandSpec<OptionSpecs>['group']
  summary: string
  about: string | undefined
  operands: readonly OperandSpec[]
  options: OptionSpecs
  takesProgram: boolean
  onStrayWord: (() => Error) | undefined
  examples: readonly (readonly [string, string])[]
  run: (
    shell: Shell,
    options: Record<string, unknown>,
    operands: string[],
    repeated: readonly Repeated[],
  ) => Promise<number | undefined>
}

export function command<const O extends OptionSpecs>(spec: CommandSpec<O>): Command {
  return {
    ...spec,
    about: spec.about,
    operands: spec.operands ?? [],
    options: spec.options ?? {},
    takesProgram: spec.takesProgram ?? false,
    onStrayWord: spec.onStrayWord,
    run: (shell, options, operands, repeated) => spec.run(shell, options as Values<O>, operands, repeated),
  }
}

/** Accepted by every command. */
export const commonOptions = {
  profile: {
    type: 'text',
    value: 'NAME',
    summary: 'profile to use (default: SALLYPORT_PROFILE, then the current profile)',
  },
  url: {
    type: 'text',
    value: 'URL',
    summary: "service URL (default: SALLYPORT_URL, then the profile's, then localhost:8787)",
  },
  json: { type: 'boolean', summary: 'print JSON, for scripts' },
  help: { type: 'boolean', short: 'h', summary: 'show this help' },
} as const satisfies OptionSpecs
