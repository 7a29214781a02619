import type { ErrorCode } from '@sallyport/protocol/errors'
import type { AuditRecord } from '../audit/audit-record.ts'
import type { AuditStore } from '../audit/audit-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'

interface RefusalNeeds {
  config: Pick<Config, 'refusalRecordsPerMinute'>
  database: Database
  audit: AuditStore
  clock: Clock
}

export type Refusal = Pick<AuditRecord, 'requestId' | 'grantId' | 'detail'> & { agentId: string; code: ErrorCode }

export interface Refusals {
  record: (refusal: Refusal) => Promise<void>
  /** Puts on record what was only counted so far. */
  flush: () => Promise<void>
}

interface Minute {
  agentId: string
  code: ErrorCode
  startedAt: Date
  recorded: number
  counted: number
}

const minuteMs = 60_000

/**
 * Refused calls are on record too. An agent that runs into a wall a thousand times a minute gets its first refusals
 * recorded one by one, and one record with the count of the others: the log stays readable, and finite.
 */
export function createRefusals({ config, database, audit, clock }: RefusalNeeds): Refusals {
  const minutes = new Map<string, Minute>()

  const close = async (key: string, { agentId, code, counted }: Minute) => {
    minutes.delete(key)
    if (counted === 0) return
    const detail = { code, count: counted }
    await audit.append(database.queries, { event: 'proxy.refused', at: clock(), agentId, detail })
  }

  const closeOlderThan = async (time: number) => {
    for (const [key, minute] of minutes) if (minute.startedAt.getTime() <= time) await close(key, minute)
  }

  return {
    record: async ({ agentId, code, requestId, grantId, detail }) => {
      const at = clock()
      await closeOlderThan(at.getTime() - minuteMs)
      const key = `${agentId} ${code}`
      const minute = minutes.get(key) ?? { agentId, code, startedAt: at, recorded: 0, counted: 0 }
      minutes.set(key, minute)
      if (minute.recorded >= config.refusalRecordsPerMinute) {
        minute.counted++
        return
      }
      minute.recorded++
      await audit.append(database.queries, {
        event: 'proxy.refused',
        at,
        requestId,
        agentId,
        grantId,
        detail: { code, ...detail },
      })
    },
    flush: () => closeOlderThan(Infinity),
  }
}
