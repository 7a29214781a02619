/**
 * The choices for an access request. The defaults never exceed what the agent named. The service checks everything
 * again.
 */
import type { AccessRequest, ApproveBody, Connection } from '@sallyport/sdk'
import type { GrantMode, MaxAccess } from '@sallyport/protocol/grant-terms'
import { exceptionsOf, missingException } from './exceptions.ts'
import type { Rule } from './exceptions.ts'

export type Asked = Pick<AccessRequest, 'hosts' | 'api_hosts' | 'methods' | 'paths' | 'max_calls'>
export type Account = Pick<Connection, 'connection_id' | 'account_label' | 'status' | 'api_host'>

const reading = ['GET', 'HEAD']
const usual = [...reading, 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export function isReading(method: string): boolean {
  return reading.includes(method) || method === 'OPTIONS'
}

export function isWildcard(host: string): boolean {
  return host.startsWith('*.')
}

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
  ask_writes: 'Reading runs, changes ask me',
  ask_all: 'Everything asks me',
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
  const readable = eachMethod.filter((method) => reading.includes(method))
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

/** `name` is that of the first field at fault, or the start of it. */
export type Missing = { name: keyof Choices; text: string }
export type Decided = { decision: ApproveBody; missing?: undefined } | { missing: Missing; decision?: undefined }

/** The choices as an API request, or the first one that is missing. */
export function decisionOf(asked: Asked, choices: Choices, accounts: readonly Account[], now: number): Decided {
  const account = accountIn(choices, accounts)
  const hosts = account?.api_host != null ? [account.api_host] : chosenHosts(choices)
  const methods = methodsOf(asked, choices)
  const paths = choices.paths === 'some' ? linesIn(choices.somePaths) : undefined
  const until = endOf(choices, now)
  const calls = choices.calls.trim()
  if (!account) return { missing: { name: 'account', text: 'Choose an account for the agent to use.' } }
  const missing =
    missingAccount(asked, account) ??
    missingHosts(asked, hosts) ??
    (methods?.length === 0 ? { name: 'someMethods' as const, text: 'Choose at least one method.' } : undefined) ??
    (paths && missingPaths(asked, paths)) ??
    missingDate(until, now) ??
    missingCalls(asked, calls) ??
    missingException(choices.exceptions)
  if (missing) return { missing }
  return {
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

function isAccess(permissions: Choices['permissions']): permissions is MaxAccess {
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
function missingAccount(asked: Asked, { api_host: host }: Account): Missing | undefined {
  if (host === null || !isStrange(asked, host)) return undefined
  return { name: 'account', text: `It did not ask for this account’s host: ${host}` }
}

function isStrange(asked: Asked, host: string): boolean {
  return !offerOf(asked).hosts.some((one) => one === host || (isWildcard(one) && host.endsWith(one.slice(1))))
}

function missingHosts(asked: Asked, hosts: readonly string[]): Missing | undefined {
  if (hosts.length === 0) return { name: 'hosts', text: 'Choose at least one host.' }
  const strange = hosts.find((host) => isStrange(asked, host))
  return strange === undefined ? undefined : { name: 'hostsBelow', text: `It did not ask for this host: ${strange}` }
}

function missingPaths({ paths }: Asked, chosen: readonly string[]): Missing | undefined {
  const refuse = (text: string): Missing => ({ name: 'somePaths', text })
  if (chosen.length === 0) return refuse('Enter at least one path, or choose the other option.')
  const odd = chosen.find((path) => !path.startsWith('/'))
  if (odd !== undefined) return refuse(`A path must start with a slash: ${odd}`)
  const strange = chosen.find((path) => paths !== null && !paths.some((one) => isBelow(one, path)))
  return strange === undefined ? undefined : refuse(`It did not ask for this path: ${strange}`)
}

/** Compares whole segments. `*` matches any one segment. */
function isBelow(pattern: string, path: string): boolean {
  const [wide, narrow] = [pattern, path].map((text) => text.split('/').filter((segment) => segment !== ''))
  return (
    wide?.every((segment, index) => (segment === '*' ? narrow?.[index] !== undefined : segment === narrow?.[index])) ??
    false
  )
}

function missingDate(until: number | undefined, now: number): Missing | undefined {
  if (until === undefined || until > now) return undefined
  const text = Number.isNaN(until) ? 'Choose an expiry date and time.' : 'That date has passed.'
  return { name: 'date', text }
}

const manyCalls = 1_000_000_000

function missingCalls({ max_calls: most }: Asked, calls: string): Missing | undefined {
  const limit = most ?? manyCalls
  if (calls === '' || (/^\d+$/.test(calls) && Number(calls) >= 1 && Number(calls) <= limit)) return undefined
  return { name: 'calls', text: `The call limit must be a whole number from 1 to ${limit}.` }
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
