import type { Grant } from '@sallyport/sdk'

/** Those that contain all words, whatever the order and case. `names`: what the user calls agents. */
export function searchGrants(
  grants: readonly Grant[],
  wanted: string,
  names: ReadonlyMap<string, string> = new Map(),
): Grant[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean)
  return grants.filter((grant) => {
    const { agent, provider, provider_name: name, account_label: account, allowed_hosts: hosts } = grant
    const text = [agent.name, names.get(agent.agent_id), provider, name, account, ...hosts].join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** In the order of their newest grant. */
export function groupByAgent(grants: readonly Grant[]): { agent: Grant['agent']; grants: Grant[] }[] {
  const groups = new Map<string, { agent: Grant['agent']; grants: Grant[] }>()
  for (const grant of grants) {
    const group = groups.get(grant.agent.agent_id)
    if (group) group.grants.push(grant)
    else groups.set(grant.agent.agent_id, { agent: grant.agent, grants: [grant] })
  }
  return [...groups.values()]
}
