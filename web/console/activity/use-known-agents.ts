/** The agents that records can be filtered by: those that ever asked for access, and those with a grant. */
import { useQuery } from '@tanstack/react-query'
import { useNewestGrants } from '../lists.ts'
import { service } from '../service.ts'

const mostAsked = 100

/** Names by id. They are not verified: two agents with the same name are told apart by id. */
export function useKnownAgents(): Record<string, string> {
  const { data: grants = [] } = useNewestGrants()
  const { data: asked = [] } = useQuery({
    queryKey: ['access-requests', 'agents'],
    queryFn: async ({ signal }) => {
      const query = { event: 'access_request.created', limit: mostAsked } as const
      const { records } = await service.audit.list(query, { signal }).page()
      return records.map(({ agent_id: id, agent_name: name }) => [id ?? '', name ?? id ?? ''] as const)
    },
  })
  const names = new Map([...asked, ...grants.map(({ agent }) => [agent.agent_id, agent.name] as const)])
  const isShared = (name: string) => [...names.values()].filter((other) => other === name).length > 1
  const labelled = [...names].map(([id, name]) => [id, isShared(name) ? `${name} (${id})` : name] as const)
  return Object.fromEntries(labelled.sort(([, a], [, b]) => a.localeCompare(b)))
}
