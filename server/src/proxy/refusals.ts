import type { ErrorCode } from '@sallyport/protocol/errors'
import type { AuditRecord } from '../audit/audit-record.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import type { Facts } from './call.ts'
import { shortened } from './destination.ts'
import { recordBytes } from './record-budget.ts'
import type { RecordBudget } from './record-budget.ts'

interface RefusalNeeds {
  config: Pick<Config, 'refusalRecordsPerMinute'>
  database: Database
  audit: AuditWriter
  budget: RecordBudget
  clock: Clock
}

export type Refusal = Pick<AuditRecord, 'requestId' | 'grantId' | 'userId' | 'connectionId' | 'provider'> & {
  agentId: string
  /** Of the caller, if it is known. */
  address?: string | undefined
  code: ErrorCode
  /** What was known of the call when it was refused. */
  facts: Partial<Facts>
}

export interface Refusals {
  record: (refusal: Refusal) => Promise<void>
  /** Records the refusals that were only counted so far. */
  flush: () => Promise<void>
}

interface Minute {
  agentId: string
  address: string | undefined
  code: ErrorCode
  startedAt: Date
  recorded: number
  counted: number
}

const minuteMs = 60_000

/**
 * Records refused calls. Per agent, code and minute the first ones get a record each and the others one record with
 * their count, so that an agent that retries in a loop can't flood the log. Agents that have used up their storage
 * budget are counted together.
 */
export function createRefusals({ config, database, audit, budget, clock }: RefusalNeeds): Refusals {
  const minutes = new Map<string, Minute>()
  const ofAllAgents = new Map<ErrorCode, number>()
  const append = (record: Partial<AuditRecord>) => {
    const isKeptBriefly = record.userId === undefined
    return audit.append(database.queries, { at: clock(), ...record, event: 'proxy.refused', isKeptBriefly })
  }

  const recordCount = async (minute: Minute) => {
    const { agentId, address, code, counted: count } = minute
    if (count === 0) return
    minute.counted = 0
    try {
      if (await budget.trySpend({ agentId, address }, recordBytes)) {
        await append({ agentId, detail: { code, count } })
      } else ofAllAgents.set(code, (ofAllAgents.get(code) ?? 0) + count)
    } catch (error) {
      minute.counted += count
      throw error
    }
  }

  const closeMinutes = async () => {
    for (const [key, minute] of minutes) {
      if (minute.startedAt.getTime() > clock().getTime() - minuteMs) continue
      // First: a refusal that comes while the count is being recorded belongs to the next minute.
      Object.assign(minute, { startedAt: clock(), recorded: 0 })
      await recordCount(minute)
      if (minute.recorded === 0) minutes.delete(key)
    }
  }

  const recordCountsOfAll = async () => {
    for (const [code, count] of ofAllAgents) {
      await append({ detail: { code, count } })
      const more = (ofAllAgents.get(code) ?? 0) - count
      if (more > 0) ofAllAgents.set(code, more)
      else ofAllAgents.delete(code)
    }
  }

  return {
    record: async ({ code, facts, address, ...names }) => {
      const { agentId, userId } = names
      const at = clock()
      await closeMinutes()
      const key = `${agentId} ${code}`
      const minute = minutes.get(key) ?? { agentId, address, code, startedAt: at, recorded: 0, counted: 0 }
      minutes.set(key, minute)
      const detail = { code, ...shortened(facts) }
      const bytes = recordBytes + JSON.stringify(detail).length
      // Counted before the await below, so that concurrent refusals don't all take the last place.
      const hasPlace = minute.recorded++ < config.refusalRecordsPerMinute
      const spend = userId === undefined ? budget.trySpend : budget.trySpendOwn
      if (!hasPlace || !(await spend({ agentId, address }, bytes))) {
        minute.counted++
        return
      }
      await append({ ...names, at, outcome: 'refused', detail })
    },
    flush: async () => {
      for (const minute of minutes.values()) await recordCount(minute)
      await closeMinutes()
      await recordCountsOfAll()
    },
  }
}
