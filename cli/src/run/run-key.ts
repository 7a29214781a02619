/**
 * The key of a run. It is replaced while the run lasts, and revoked at its end. One that this process can't revoke any more
 * ends by itself.
 */
import type { AgentClient } from '@sallyport/sdk'

/** A call that lasts longer than from a replacement to the old key's end is cut off. */
const lifetimeSeconds = 3 * 3600
const renewMs = 3600 * 1000
const retryMs = 60 * 1000
const revokeMs = 5000

export interface RunKey {
  /** By the service's clock. */
  createdAt: string
  /** The newest. */
  secret: () => string
  end: () => Promise<void>
}

export async function makeRunKey(agent: AgentClient, grantIds: string[], signal: AbortSignal): Promise<RunKey> {
  const wanted = { grant_ids: grantIds, expires_in_seconds: lifetimeSeconds }
  const first = await agent.toolKeys.create(wanted, { signal })
  const made = [first]
  let timer: NodeJS.Timeout | undefined
  const renewIn = (ms: number) => {
    timer = setTimeout(() => void renew(), ms)
    timer.unref()
  }
  const renew = async () => {
    try {
      made.push(await agent.toolKeys.create(wanted))
      renewIn(renewMs)
    } catch {
      renewIn(retryMs)
    }
  }
  renewIn(renewMs)
  return {
    createdAt: first.created_at,
    secret: () => (made.at(-1) ?? first).key,
    end: async () => {
      clearTimeout(timer)
      const ended = made.map(({ key_id }) => agent.toolKeys.revoke(key_id, { timeoutMs: revokeMs }))
      await Promise.allSettled(ended)
    },
  }
}
