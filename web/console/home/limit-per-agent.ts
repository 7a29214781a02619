/** Limits requests per agent, so that one agent can't push others' requests out of sight. */
import type { AccessRequest } from '@sallyport/sdk'

const mostOfAgent = 5
const mostInAll = 50

type Asked = { agent: Pick<AccessRequest['agent'], 'agent_id'> }

/** The requests to show, in order, and how many more there are. */
export function limitPerAgent<R extends Asked>(requests: readonly R[]): { shown: R[]; behind: number } {
  const ofAgent = new Map<string, number>()
  const shown: R[] = []
  for (const request of requests) {
    const { agent_id: id } = request.agent
    const before = ofAgent.get(id) ?? 0
    if (before === mostOfAgent || shown.length === mostInAll) continue
    ofAgent.set(id, before + 1)
    shown.push(request)
  }
  return { shown, behind: requests.length - shown.length }
}
