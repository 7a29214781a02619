import { commonOptions } from './command.ts'
import type { Command } from './command.ts'
import { usageError } from './failures.ts'
import { nearest } from './nearest.ts'
import { inLine } from './terminal-text.ts'

export interface Found {
  command: Command
  /** All words except the command's name. */
  rest: string[]
}

/** Undefined if no command is named. Common options may come before the command. */
export function findCommand(commands: readonly Command[], words: string[]): Found | undefined {
  const at = firstName(words)
  const [first, second] = words.slice(at)
  if (first === undefined) return undefined
  const without = (count: number) => [...words.slice(0, at), ...words.slice(at + count)]
  const whole = commands.find(({ name }) => second !== undefined && name === `${first} ${second}`)
  if (whole) return { command: whole, rest: without(2) }
  const single = commands.find(({ name }) => name === first)
  if (single) return { command: single, rest: without(1) }
  const below = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (below.length === 0) throw unknown(first, [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))])
  // A group's name alone runs its list or show command.
  const usual = below.find(({ name }) => / (?:list|show)$/.test(name))
  if (usual && (second === undefined || second.startsWith('-'))) return { command: usual, rest: without(1) }
  const names = below.map(({ name }) => name.slice(first.length + 1))
  if (second === undefined) throw usageError(`"${first}" needs a subcommand: ${names.join(', ')}`)
  throw usageError(`unknown command "${first} ${inLine(second)}" (available: ${names.join(', ')})`)
}

function firstName(words: string[]): number {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!word.startsWith('-')) return at
    const spec = Object.entries(commonOptions).find(([name]) => word === `--${name}`)?.[1]
    if (spec && spec.type !== 'boolean') at++
  }
  return words.length
}

function unknown(given: string, names: string[]): Error {
  const meant = nearest(given, names)
  return usageError(
    `unknown command "${inLine(given)}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
    'List all commands: sallyport --help',
  )
}
