/**
 * Chooses the grant for a call that names none. Grants for the same account are interchangeable, so the newest that
 * allows the call is used. It never chooses between two accounts.
 */
import type { AgentClient, Grant } from '@sallyport/sdk'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import { shellWord } from './shell-word.ts'
import { fromNow } from './times.ts'

export interface Wanted {
  url: URL
  method: string
  signal: AbortSignal
}

/** One grant, none, or the grants of several accounts. */
export type Choice = { grant: Grant } | { grants: Grant[] }

export async function chooseGrant(agent: AgentClient, wanted: Wanted): Promise<string> {
  const { url, method } = wanted
  const choice = await findGrant(agent, wanted)
  if ('grant' in choice) return choice.grant.grant_id
  const { grants } = choice
  if (grants.length === 0) {
    throw new CommandFailure(exitCodes.refused, `no active grant covers ${method} ${url.host}`, {
      code: 'no_grant',
      hint: `Request one: sallyport request PROVIDER --host ${shellWord(url.host)} --method ${shellWord(method)}`,
    })
  }
  throw new CommandFailure(
    exitCodes.usage,
    `grants for several accounts cover ${url.host}; choose one with --grant: ${grants.map(inWords).join(', ')}`,
    { code: 'several_grants', facts: { grants: grants.map(toTellApart) } },
  )
}

export async function findGrant(agent: AgentClient, wanted: Wanted): Promise<Choice> {
  const covering = await coveringGrants(agent, wanted)
  const [only, other] = covering
  if (!only) return { grants: [] }
  if (!other) return { grant: only }
  const allowed: Grant[] = []
  const isAsked = new Set<Grant>()
  for (const grant of covering) {
    const { allowed: isAllowed, asks } = await dryRun(agent, grant, wanted)
    if (isAllowed) allowed.push(grant)
    if (asks) isAsked.add(grant)
  }
  // If none allows the call, use any: the service's refusal says what to request.
  const left = allowed.length > 0 ? allowed : covering
  const accounts = new Set(left.map(accountOf))
  // The newest, but no person is asked if the account has a grant that does without.
  const grant = left.find((one) => !isAsked.has(one)) ?? left[0] ?? only
  return accounts.size === 1 ? { grant } : { grants: left }
}

/** The service checks paths, batches, terms and the remaining calls. */
function dryRun(agent: AgentClient, grant: Grant, { url, method, signal }: Wanted) {
  return agent.dryRun({ grant_id: grant.grant_id, method, url: url.href }, { signal })
}

/** Grants whose hosts and methods cover the call, newest first. */
async function coveringGrants(agent: AgentClient, { url, method, signal }: Wanted): Promise<Grant[]> {
  const covering: Grant[] = []
  for await (const grant of agent.grants({ status: 'active' }, { signal })) {
    const { allowed_hosts, allowed_methods } = grant
    const isMethod = allowed_methods === null || allowed_methods.includes(method.toUpperCase())
    if (isMethod && isUnder(allowed_hosts, url)) covering.push(grant)
  }
  return covering.sort((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1))
}

function keyOf({ created_at, grant_id }: Grant): string {
  return `${created_at} ${grant_id}`
}

/** An agent isn't told whose account it is, but whether two grants use the same one. */
function accountOf({ connection_id, grant_id }: Grant): string {
  return connection_id ?? grant_id
}

function inWords(grant: Grant): string {
  const { grant_id, kind, provider, connection_id, allowed_methods, expires_at } = grant
  const methods = allowed_methods?.join('/') ?? 'any method'
  return `${grant_id} (${provider ?? kind}, ${connection_id ?? 'no account'}, ${methods}, expires ${fromNow(expires_at, 'never')})`
}

/** The members that distinguish grants. */
export function toTellApart(grant: Grant) {
  const { grant_id, kind, provider, connection_id, allowed_hosts, allowed_methods, allowed_paths } = grant
  const { mode, exceptions, max_access, created_at, expires_at } = grant
  return {
    ...{ grant_id, kind, provider, connection_id },
    ...{ allowed_hosts, allowed_methods, allowed_paths, mode, exceptions, max_access, created_at, expires_at },
  }
}

export function isUnder(hosts: string[], url: URL): boolean {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  return hosts.some((entry) => {
    const [, name = '', entryPort = '443'] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    if (entryPort !== port) return false
    return name.startsWith('*.') ? url.hostname.endsWith(name.slice(1)) : url.hostname === name
  })
}
