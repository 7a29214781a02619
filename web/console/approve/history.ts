/** What an agent did before with what the same person granted it. */
import type { Grant } from '@sallyport/sdk'
import { count } from '../../ui/words.ts'

export interface History {
  grants: Grant[]
  calls: number
  lastUsedAt: string | null
  active: number
}

export function historyOf(grants: readonly Grant[], agentId: string): History {
  const own = grants.filter(({ agent }) => agent.agent_id === agentId)
  const uses = own.flatMap(({ last_used_at: at }) => (at === null ? [] : [at])).sort()
  return {
    grants: own,
    calls: own.reduce((sum, { calls }) => sum + calls, 0),
    lastUsedAt: uses.at(-1) ?? null,
    active: own.filter(({ status }) => status === 'active').length,
  }
}

export function describeHistory({ grants, calls, active }: History): string {
  if (grants.length === 0) return 'Nothing: you have never granted it anything.'
  const held =
    active === 0
      ? 'none of it holds any more'
      : active === grants.length
        ? 'it still holds'
        : `${active} still ${active === 1 ? 'holds' : 'hold'}`
  return `You have granted it access ${times(grants.length)}; ${held}. It made ${calls === 0 ? 'no call' : count(calls, 'call')} with it.`
}

function times(number: number): string {
  return number === 1 ? 'once' : number === 2 ? 'twice' : `${number} times`
}
