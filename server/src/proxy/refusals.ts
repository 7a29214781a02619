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

export type Refusal = Pick<AuditRecord, 'requestId' | 'grantId' | 'userId' | 'connectionId' | 'provider' | 'detail'> & {
  agentId: string
  code: ErrorCode
}

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

  const recordCount = async (minute: Minute) => {
    const { agentId, code, counted: count } = minute
    if (count === 0) return
    minute.counted = 0
    try {
      await audit.append(database.queries, { event: 'proxy.refused', at: clock(), agentId, detail: { code, count } })
    } catch (error) {
      minute.counted += count
      throw error
    }
  }

  const closeMinutes = async () => {
    for (const [key, minute] of minutes) {
      if (minute.startedAt.getTime() > clock().getTime() - minuteMs) continue
      // First: what is refused while it is put on record belongs to the next one.
      minutes.delete(key)
      try {
        await recordCount(minute)
      } catch (error) {
        const next = minutes.get(key)
        if (next) next.counted += minute.counted
        else minutes.set(key, minute)
        throw error
      }
    }
  }

  return {
    record: async ({ code, detail, ...names }) => {
      const { agentId } = names
      const at = clock()
      await closeMinutes()
      const key = `${agentId} ${code}`
      const minute = minutes.get(key) ?? { agentId, code, startedAt: at, recorded: 0, counted: 0 }
      minutes.set(key, minute)
      if (minute.recorded >= config.refusalRecordsPerMinute) {
        minute.counted++
        return
      }
      minute.recorded++
      const record = { ...names, event: 'proxy.refused', at, outcome: 'refused', detail: { code, ...detail } } as const
      await audit.append(database.queries, record)
    },
    flush: async () => {
      for (const minute of minutes.values()) await recordCount(minute)
      await closeMinutes()
    },
  }
}
