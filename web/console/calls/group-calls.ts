/** Calls that wait together, grouped by their agent: the longest waiting first. */
import type { DecideCallsReply, PersonCall } from '@sallyport/sdk'
import { count } from '../../ui/words.ts'

export interface Group {
  agent: PersonCall['agent']
  calls: PersonCall[]
}

export function groupCalls(calls: readonly PersonCall[]): Group[] {
  const groups = new Map<string, Group>()
  const oldestFirst = calls.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at))
  for (const call of oldestFirst) {
    const group = groups.get(call.agent.agent_id) ?? { agent: call.agent, calls: [] }
    group.calls.push(call)
    groups.set(call.agent.agent_id, group)
  }
  return [...groups.values()]
}

/** What a decision on several calls came to. */
export function tellDecided(
  verdict: 'approve' | 'deny',
  { results }: DecideCallsReply,
): { text: string; isProblem: boolean } {
  const failed = results.filter(({ error }) => error !== null)
  const decided = results.length - failed.length
  const done = `${count(decided, 'call')} ${verdict === 'approve' ? 'approved' : 'denied'}.`
  const [first] = failed
  if (!first?.error) return { text: done, isProblem: false }
  const rest = `${count(failed.length, 'call was', 'calls were')} not: ${first.error.message}`
  return { text: decided === 0 ? rest.replace(' not:', ' not decided:') : `${done} ${rest}`, isProblem: true }
}
