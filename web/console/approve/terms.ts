/**
 * The choices for an access request. The defaults never exceed what the agent named. The service checks everything
 * again.
 */
import type { AccessRequest, ApproveBody, Connection } from '@sallyport/sdk'
import type { GrantMode, MaxAccess } from '@sallyport/protocol/grant-terms'
import { exceptionFaults, exceptionsOf } from './exceptions.ts'
import type { Rule } from './exceptions.ts'
import { isBelow, isWildcard, oddPath } from './reach.ts'

export type Asked = Pick<AccessRequest, 'hosts' | 'api_hosts' | 'methods' | 'paths' | 'max_calls'>
export type Account = Pick<Connection, 'connection_id' | 'account_label' | 'status' | 'api_host'>

const usual = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export const lastings = {
  hour: '1 hour',
  day: '1 day',
  month: '30 days',
  date: 'Until a date I choose',
  revoked: 'Until I revoke it',
}
export type Lasting = keyof typeof lastings

/** When calls wait for the user. */
export const modes = {
  allow_all: 'Everything runs',
  ask_writes: 'Reads run, changes ask',
  ask_all: 'Everything asks',
} as const satisfies Record<GrantMode, string>

export interface Choices {
  account: string
  mode: GrantMode
  /** As typed. */
  exceptions: Rule[]
  hosts: string[]
  /** Hosts under a wildcard, as typed. */
  hostsBelow: string
  /** `read` and `write` limit what calls do, whatever their method: at many providers a POST only reads. */
  permissions: 'asked' | MaxAccess | 'some'
  someMethods: string[]
  paths: 'asked' | 'some'
  somePaths: string
  lasting: Lasting
  /** In the local time zone, in the format of a browser input. */
  date: string
  calls: string
}

export interface Offer {
  hosts: string[]
  hasWildcard: boolean
  eachMethod: string[]
}

export function offerOf({ hosts, api_hosts: apiHosts, methods }: Asked): Offer {
  const offered = hosts ?? apiHosts
  return { hosts: offered, hasWildcard: offered.some(isWildcard), eachMethod: methods ?? usual }
}

/** `preferred`: the account that was just connected. */
export function firstChoices(asked: Asked, preferred: string | null): Choices {
  const { hosts, paths, max_calls: calls } = asked
  const { hosts: offered, eachMethod } = offerOf(asked)
  const readable = eachMethod.filter((method) => method === 'GET' || method === 'HEAD')
  return {
    account: preferred ?? '',
    mode: 'ask_writes',
    exceptions: [],
    hosts: offered.filter((host) => hosts !== null || !isWildcard(host)),
    hostsBelow: '',
    permissions: 'asked',
    someMethods: readable.length > 0 ? readable : eachMethod,
    paths: 'asked',
    somePaths: paths?.join('\n') ?? '',
    lasting: 'day',
    date: '',
    calls: calls === null ? '' : String(calls),
  }
}

/** What is wrong with a choice. `at` and `part`: of several rows, the one at fault, and its field. */
export interface Fault {
  name: keyof Choices
  at?: number
  part?: 'exceptionPaths' | 'exceptionMethods'
  text: string
}

/** The text at a field. */
export function problemAt(faults: readonly Fault[], name: Fault['name']): string | undefined {
  return faults.find((fault) => fault.name === name)?.text
}

export type Decided = { decision: ApproveBody; faults: [] } | { decision?: undefined; faults: Fault[] }

/** The choices as they are, right or wrong. Without methods or paths: all that were asked for. */
export function draftOf(asked: Asked, choices: Choices, account: Account | undefined, now: number) {
  return {
    hosts: account?.api_host != null ? [account.api_host] : chosenHosts(choices),
    methods: methodsOf(asked, choices),
    paths: choices.paths === 'some' ? linesIn(choices.somePaths) : undefined,
    until: endOf(choices, now),
    calls: choices.calls.trim(),
  }
}

/** The choices as an API request, or everything that is wrong with them. */
export function decisionOf(asked: Asked, choices: Choices, accounts: readonly Account[], now: number): Decided {
  const account = accountIn(choices, accounts)
  const { hosts, methods, paths, until, calls } = draftOf(asked, choices, account, now)
  const faults = [
    accountFault(asked, account),
    hostsFault(asked, hosts, account),
    methods?.length === 0 ? { name: 'someMethods' as const, text: 'Choose at least one method.' } : undefined,
    paths && pathsFault(asked, paths),
    dateFault(until, now),
    callsFault(asked, calls),
    ...exceptionFaults(choices.exceptions),
  ].filter((fault) => fault !== undefined)
  if (!account || faults.length > 0) return { faults }
  return {
    faults: [],
    decision: {
      connection_id: account.connection_id,
      allowed_hosts: hosts,
      ...(methods && { allowed_methods: methods }),
      ...(paths && { allowed_paths: paths }),
      ...(calls !== '' && { max_calls: Number(calls) }),
      ...(until !== undefined && { expires_at: new Date(until).toISOString() }),
      mode: choices.mode,
      exceptions: exceptionsOf(choices.exceptions),
      ...(isAccess(choices.permissions) && { max_access: choices.permissions }),
    },
  }
}

/** The fields of members that the service may refuse. */
const fieldsOfMembers: Record<string, keyof Choices> = {
  connection_id: 'account',
  allowed_hosts: 'hosts',
  allowed_methods: 'someMethods',
  allowed_paths: 'somePaths',
  max_calls: 'calls',
  expires_at: 'date',
  exceptions: 'exceptions',
}

/** What the service found wrong, at the field that it is about. Undefined if there is no such field on the page. */
export function faultAt(member: string | undefined, text: string, choices: Choices): Fault | undefined {
  const [root = '', index] = (member ?? '').split('.')
  const name = fieldsOfMembers[root]
  if (name === undefined || (name === 'date' && choices.lasting !== 'date')) return undefined
  if (name === 'somePaths' && choices.paths !== 'some') return undefined
  if (name === 'someMethods' && choices.permissions !== 'some') return undefined
  return { name, text, ...(name === 'exceptions' && { at: Number(index), part: 'exceptionPaths' }) }
}

function chosenHosts({ hosts, hostsBelow }: Choices): string[] {
  return [...new Set([...hosts, ...linesIn(hostsBelow).map((line) => line.toLowerCase())])]
}

function linesIn(text: string): string[] {
  return text.split(/\s+/).filter((line) => line !== '')
}

/** Undefined for all requested methods. */
function methodsOf(asked: Asked, { permissions, someMethods }: Choices): string[] | undefined {
  return permissions === 'some' ? offerOf(asked).eachMethod.filter((method) => someMethods.includes(method)) : undefined
}

export function isAccess(permissions: Choices['permissions']): permissions is MaxAccess {
  return permissions === 'read' || permissions === 'write'
}

const hourMs = 3_600_000
const spans: Partial<Record<Lasting, number>> = { hour: hourMs, day: 24 * hourMs, month: 720 * hourMs }

function endOf({ lasting, date }: Choices, now: number): number | undefined {
  if (lasting === 'revoked') return undefined
  const span = spans[lasting]
  return span === undefined ? Date.parse(date) : now + span
}

/** The credential of an account with a host of its own is sent nowhere else. */
function accountFault(asked: Asked, account: Account | undefined): Fault | undefined {
  if (!account) return { name: 'account', text: 'Choose an account for the agent to use.' }
  const { api_host: host } = account
  if (host === null || !isStrange(asked, host)) return undefined
  return { name: 'account', text: `It did not ask for this account’s host: ${host}` }
}

function isStrange(asked: Asked, host: string): boolean {
  return !offerOf(asked).hosts.some((one) => one === host || (isWildcard(one) && host.endsWith(one.slice(1))))
}

function hostsFault(asked: Asked, hosts: readonly string[], account: Account | undefined): Fault | undefined {
  if (account?.api_host != null) return undefined
  if (hosts.length === 0) return { name: 'hosts', text: 'Choose at least one host.' }
  const strange = hosts.find((host) => isStrange(asked, host))
  return strange === undefined ? undefined : { name: 'hostsBelow', text: `It did not ask for this host: ${strange}` }
}

function pathsFault({ paths }: Asked, chosen: readonly string[]): Fault | undefined {
  const refuse = (text: string): Fault => ({ name: 'somePaths', text })
  if (chosen.length === 0) return refuse('Enter at least one path, or choose the other option.')
  const odd = oddPath(chosen)
  if (odd !== undefined) return refuse(odd)
  const strange = chosen.find((path) => paths !== null && !paths.some((one) => isBelow(one, path)))
  return strange === undefined ? undefined : refuse(`It did not ask for this path: ${strange}`)
}

function dateFault(until: number | undefined, now: number): Fault | undefined {
  if (until === undefined || until > now) return undefined
  const text = Number.isNaN(until) ? 'Choose an expiry date and time.' : 'That date has passed.'
  return { name: 'date', text }
}

const manyCalls = 1_000_000_000

function callsFault({ max_calls: most }: Asked, calls: string): Fault | undefined {
  const limit = most ?? manyCalls
  if (calls === '' || (/^\d+$/.test(calls) && Number(calls) >= 1 && Number(calls) <= limit)) return undefined
  return { name: 'calls', text: `The call limit must be a whole number from 1 to ${limit.toLocaleString('en')}.` }
}

/** The only active account is selected automatically. */
export function accountIn({ account }: Choices, accounts: readonly Account[]): Account | undefined {
  const active = accounts.filter(({ status }) => status === 'active')
  return active.find(({ connection_id: id }) => id === account) ?? (active.length === 1 ? active[0] : undefined)
}

export function labelOf({ account_label: label, connection_id: id }: Labelled): string {
  return label ?? id ?? 'an account'
}

interface Labelled {
  account_label: string | null
  connection_id: string | null
}
