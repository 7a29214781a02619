/** The terms of a grant as they are edited, and the change that is sent. The service checks everything again. */
import type { ChangeGrantBody, Grant } from '@sallyport/sdk'
import { exceptionFaults, exceptionsOf, rulesOf } from '../approve/exceptions.ts'
import type { Rule } from '../approve/exceptions.ts'
import type { Fault as RuleFault } from '../approve/terms.ts'

/** Lists are typed one per line, or separated by spaces or commas. */
export interface Terms {
  mode: Grant['mode']
  /** Empty: any. */
  access: NonNullable<Grant['max_access']> | ''
  hosts: string
  /** Empty: all that were requested. */
  methods: string
  paths: string
  calls: string
  /** In the local time zone, in the format of a browser input. Empty: never. */
  date: string
  exceptions: Rule[]
}

export function termsOf(grant: Grant): Terms {
  return {
    mode: grant.mode,
    access: grant.max_access ?? '',
    hosts: grant.allowed_hosts.join('\n'),
    methods: grant.allowed_methods?.join(', ') ?? '',
    paths: grant.allowed_paths?.join('\n') ?? '',
    calls: grant.max_calls === null ? '' : String(grant.max_calls),
    date: grant.expires_at === null ? '' : localInput(new Date(grant.expires_at)),
    exceptions: rulesOf(grant.exceptions),
  }
}

export const fields = {
  mode: 'mode',
  access: 'max_access',
  hosts: 'allowed_hosts',
  methods: 'allowed_methods',
  paths: 'allowed_paths',
  calls: 'max_calls',
  date: 'expires_at',
  exceptions: 'exceptions',
} as const satisfies Record<keyof Terms, keyof ChangeGrantBody>

/** `at` and `part`: of several exceptions, the one at fault, and its field. */
export type Fault = { name: keyof Terms; text: string } & Pick<RuleFault, 'at' | 'part'>

/** Only what was edited, or the first value that can't be sent. */
export function changeOf(grant: Grant, terms: Terms): { change: ChangeGrantBody } | { fault: Fault } {
  const before = termsOf(grant)
  const calls = terms.calls.trim()
  const until = Date.parse(terms.date)
  const fault = (name: keyof Terms, text: string) => ({ fault: { name, text } })
  if (calls !== '' && !/^[1-9]\d{0,8}$/.test(calls)) return fault('calls', 'Enter a whole number, or nothing.')
  if (terms.date !== '' && Number.isNaN(until)) return fault('date', 'Choose a date and time, or nothing.')
  if (wordsIn(terms.hosts).length === 0) return fault('hosts', 'Enter at least one host.')
  const [odd] = exceptionFaults(terms.exceptions)
  if (odd) return { fault: { ...odd, name: 'exceptions' } }
  const listOrAll = (text: string) => (wordsIn(text).length === 0 ? null : wordsIn(text))
  const all: Required<Omit<ChangeGrantBody, 'challenge_id' | 'signature'>> = {
    mode: terms.mode,
    max_access: terms.access === '' ? null : terms.access,
    allowed_hosts: wordsIn(terms.hosts),
    allowed_methods: listOrAll(terms.methods.toUpperCase()),
    allowed_paths: listOrAll(terms.paths),
    max_calls: calls === '' ? null : Number(calls),
    expires_at: terms.date === '' ? null : new Date(until).toISOString(),
    exceptions: exceptionsOf(terms.exceptions),
  }
  const edited = (Object.keys(fields) as (keyof Terms)[]).filter(
    (name) => JSON.stringify(terms[name]) !== JSON.stringify(before[name]),
  )
  return { change: Object.fromEntries(edited.map((name) => [fields[name], all[fields[name]]])) }
}

function wordsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

function localInput(moment: Date): string {
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
