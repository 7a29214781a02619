/** Says on the terminal that a call of the run's command waits for a person: the command itself only seems to hang. */
import type { AgentClient } from '@sallyport/sdk'
import { inLine } from '../terminal-text.ts'

const lookMs = 2000

interface AnnouncedCalls {
  grantIds: readonly string[]
  /** By the service's clock. Earlier calls are of another program. */
  since: string
  isInUse: () => boolean
  say: (line: string) => void
}

/**
 * Looks only while the command has a connection that a call could have come through. Returns the function that ends it, and
 * says what became of calls that were not approved: git, for one, shows nothing of that.
 */
export function announceCalls(
  agent: AgentClient,
  { grantIds, since, isInUse, say }: AnnouncedCalls,
): () => Promise<void> {
  const announced = new Map<string, string>()
  const look = async () => {
    const { calls } = await agent.calls.list({ status: 'waiting' }).page()
    for (const { call_id, grant_id, method, url, approval_url, created_at } of calls) {
      const isOurs = grantIds.includes(grant_id) && Date.parse(created_at) >= Date.parse(since)
      if (announced.has(call_id) || !isOurs) continue
      const call = `${inLine(method)} ${inLine(url)}`
      announced.set(call_id, call)
      say(`a person has to approve ${call}: ${inLine(approval_url)}`)
    }
  }
  const sayOutcomes = async () => {
    for (const [callId, call] of [...announced].slice(-mostOutcomes)) {
      const { status, approval_url } = await agent.calls.get(callId)
      if (status === 'waiting') say(`${call} still waits for a person: ${inLine(approval_url)}`)
      if (status === 'denied') say(`a person denied ${call}`)
      if (status === 'expired') say(`the request to approve ${call} expired`)
    }
  }
  let timer: NodeJS.Timeout | undefined
  const again = () => {
    timer = setTimeout(() => {
      if (isInUse())
        look()
          .catch(() => undefined)
          .finally(again)
      else again()
    }, lookMs).unref()
  }
  again()
  return async () => {
    clearTimeout(timer)
    await sayOutcomes().catch(() => undefined)
  }
}

/** Each is a request, before the run ends. */
const mostOutcomes = 10
