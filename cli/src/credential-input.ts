/**
 * Reads the members of a credential: from files, standard input, or the terminal, where secrets are not shown. A secret
 * is never an argument, and no error repeats what was given.
 */
import type { OptionSpecs } from './command.ts'
import { usageError } from './failures.ts'
import { readInput } from './input-files.ts'
import type { Offer } from './person.ts'
import type { Shell } from './shell.ts'
import { inLine } from './terminal-text.ts'

export type Method = Offer['auth_methods'][number]
type Member = Method['members'][number]

const maxBytes = 65_536

export const memberOptions = {
  member: { type: 'texts', value: 'NAME=VALUE', summary: "a member that isn't secret, such as a user name" },
  'member-file': { type: 'texts', value: 'NAME=FILE', summary: 'a member from a file; - for standard input' },
} as const satisfies OptionSpecs

interface Given {
  member: string[]
  'member-file': string[]
}

export function secretAsArgument(): Error {
  return usageError(
    "don't pass a credential on the command line, where other users of this machine can read it",
    'Leave it out to be asked for it, pipe it in, or use --member-file NAME=FILE',
  )
}

export async function readCredential(shell: Shell, method: Method, given: Given): Promise<Record<string, string>> {
  const values = new Map<string, string>()
  const keep = (name: string, value: string) => {
    if (values.has(name)) throw usageError(`"${inLine(name)}" was given twice`)
    values.set(name, value)
  }
  for (const [{ name, secret }, value] of pairs(method, given.member, '--member', 'VALUE')) {
    if (secret) throw secretAsArgument()
    keep(name, value)
  }
  const files = pairs(method, given['member-file'], '--member-file', 'FILE')
  if (files.filter(([, file]) => file === '-').length > 1) throw usageError('only one member can be standard input')
  for (const [{ name }, file] of files) keep(name, await readMember(shell, file, `--member-file ${name}`))
  const asksForAll = shell.ask !== undefined && values.size === 0
  const missing = method.members.filter(({ name, optional }) => !values.has(name) && (!optional || asksForAll))
  const isInputRead = files.some(([, file]) => file === '-')
  for (const [name, value] of await readMissing(shell, missing, isInputRead)) keep(name, value)
  return Object.fromEntries(values)
}

function pairs(method: Method, given: string[], option: string, what: string): [Member, string][] {
  return given.map((pair) => {
    const at = pair.indexOf('=')
    const member = method.members.find(({ name }) => name === pair.slice(0, Math.max(0, at)))
    if (member) return [member, pair.slice(at + 1)]
    throw usageError(`${option}: expected NAME=${what}, with one of the names ${namesOf(method.members)}`)
  })
}

async function readMissing(shell: Shell, missing: Member[], isInputRead: boolean): Promise<[string, string][]> {
  const { ask } = shell
  if (ask && !isInputRead) {
    const answers: [string, string][] = []
    for (const member of missing) {
      const value = await askFor(shell, ask, member)
      if (value !== '' || !member.optional) answers.push([member.name, value])
    }
    return answers
  }
  const [only, ...others] = missing
  if (!only) return []
  if (others.length === 0 && !isInputRead) return [[only.name, await readMember(shell, '-', 'standard input')]]
  const secret = missing.some((member) => member.secret) ? '--member-file NAME=FILE' : '--member NAME=VALUE'
  throw usageError(`missing: ${namesOf(missing)}`, `Give each with ${secret}. One can be piped in`)
}

async function askFor(shell: Shell, ask: NonNullable<Shell['ask']>, member: Member): Promise<string> {
  const label = `${inLine(member.label ?? member.name)}${member.optional ? ' (optional)' : ''}`
  if (member.format === 'text') return ask(`${label}: `, { isHidden: member.secret })
  const file = await ask(`${label}, the path of a file: `)
  return file === '' && member.optional ? '' : readMember(shell, file, member.name)
}

async function readMember(shell: Shell, file: string, option: string): Promise<string> {
  const bytes = await readInput(shell, file, option)
  if (bytes.length > maxBytes) throw usageError(`${option}: larger than a credential (${maxBytes} bytes)`)
  const text = bytes.toString('utf8').trim()
  if (text === '') throw usageError(`${option}: it is empty`)
  return text
}

function namesOf(members: readonly Member[]): string {
  return members.map(({ name }) => inLine(name)).join(', ')
}
