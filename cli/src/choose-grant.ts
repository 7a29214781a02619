/** The grant that a call needs, where none is named: the one that covers it, and never a guess between two. */
import type { AgentClient, Grant } from '@sallyport/sdk'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import { shellWord } from './shell-word.ts'

export async function chooseGrant(agent: AgentClient, url: URL, method: string, signal: AbortSignal): Promise<string> {
  const covering = await coveringGrants(agent, url, method, signal)
  const [grant, other] = covering
  if (grant && !other) return grant.grant_id
  if (!grant) {
    throw new CommandFailure(exitCodes.refused, `no active grant covers ${method} ${url.host}`, {
      code: 'no_grant',
      hint: `Ask for one: sallyport request PROVIDER --host ${shellWord(url.host)} --method ${shellWord(method)}`,
    })
  }
  const ids = covering.map((one) => `${one.grant_id} (${one.provider ?? one.kind})`).join(', ')
  throw new CommandFailure(exitCodes.usage, `several grants cover ${url.host}; say which with --grant: ${ids}`, {
    code: 'usage',
  })
}

export async function coveringGrants(
  agent: AgentClient,
  url: URL,
  method: string,
  signal: AbortSignal,
): Promise<Grant[]> {
  const covering: Grant[] = []
  for await (const grant of agent.grants({ status: 'active' }, { signal })) {
    const { allowed_hosts, allowed_methods } = grant
    // As far as a client can tell; the service judges. Paths are left to it.
    const isMethod = allowed_methods === null || allowed_methods.includes(method.toUpperCase())
    if (isMethod && isUnder(allowed_hosts, url)) covering.push(grant)
  }
  return covering
}

export function isUnder(hosts: string[], url: URL): boolean {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  return hosts.some((entry) => {
    const [, name = '', entryPort = '443'] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    if (entryPort !== port) return false
    return name.startsWith('*.') ? url.hostname.endsWith(name.slice(1)) : url.hostname === name
  })
}
