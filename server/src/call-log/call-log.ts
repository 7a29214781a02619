/**
 * The log of calls. A call is counted and on disk before `begin` resolves. It is refused there if its grant, or
 * anything the grant depends on, has ended since it was authorized. The outcome follows with the next commit.
 *
 * Entries that arrive at about the same time share a commit. `transactional.ts` says what a commit does.
 * `single-statement.ts` does the same in one step if it can, and leaves every other case to it.
 */
import type { AuditRecord } from '../audit/audit-record.ts'
import type { Queries } from '../platform/database/database.ts'
import { createGroupCommit } from '../platform/database/group-commit.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/operations/log.ts'
import type { Entry, LoggedCall } from './entry.ts'
import { createPrepaidCalls } from './prepaid-calls.ts'
import { createSingleStatement } from './single-statement.ts'
import type { SingleStatementNeeds } from './single-statement.ts'
import { createTransactional } from './transactional.ts'
import type { TransactionalNeeds } from './transactional.ts'

export type CallLogNeeds = TransactionalNeeds & SingleStatementNeeds & { log: Log }

export interface CallLog {
  /** Counts the call against its agent's rate and its grant, and records it. Resolves once that is durable. */
  begin: (call: LoggedCall) => Promise<void>
  /** The same, unless `find` has a result. Both are one transaction: a refusal rolls back what `find` wrote. */
  beginUnless: <T>(call: LoggedCall, find: (tx: Queries) => Promise<T | undefined>) => Promise<T | undefined>
  /** Another request of the same call. A redirect counts as a call, a retry with a renewed token does not. */
  hop: (call: LoggedCall, why: 'redirect' | 'token_renewed') => Promise<void>
  /** Throws unless the call can still be made. For use after a wait. */
  assertStillUsable: (call: LoggedCall) => Promise<void>
  /** Resolves once it is durable. `also` runs in the same transaction. Never rejects: a failure is only logged. */
  end: (
    call: LoggedCall,
    outcome: 'answered' | 'failed',
    detail: NonNullable<AuditRecord['detail']>,
    also?: (tx: Queries) => Promise<void>,
  ) => Promise<void>
  /** Resolves once all entries so far are durable or have failed. */
  flush: () => Promise<void>
}

/** `transactional` is the specification. `single-statement` falls back to it. */
export type CallLogMode = 'transactional' | 'single-statement'

export function createCallLog(needs: CallLogNeeds, mode: CallLogMode = 'single-statement'): CallLog {
  const { database, log, clock } = needs
  const prepaid = createPrepaidCalls()
  const { write, assertStillUsable } = createTransactional(needs, prepaid)
  const group = createGroupCommit(database, write, {
    fastWrite: mode === 'single-statement' ? createSingleStatement(needs, prepaid) : undefined,
    // A beginning must not be written twice, it would count twice. Writing an end is idempotent.
    mayRepeat: ({ kind }: Entry) => kind === 'end',
  })

  const inTransaction = <T>(work: (tx: Queries) => Promise<T>) => database.transaction(work, { isUrgent: true })
  const writeAlone = async (tx: Queries, entry: Entry) => {
    const [refusal] = await write(tx, [entry])
    if (refusal) throw refusal
  }

  return {
    begin: async (call) => {
      try {
        await group.commit({ call, kind: 'begin', detail: call.facts })
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'grant_exhausted') noteExhausted(call)
        throw error
      }
    },

    beginUnless: (call, find) =>
      inTransaction(async (tx) => {
        const result = await find(tx)
        if (result === undefined) await writeAlone(tx, { call, kind: 'begin', detail: call.facts })
        else if ((await needs.agents.findCurrent(tx, [call.tokenHash])).size === 0) {
          throw new ServiceError('unauthenticated')
        }
        return result
      }),

    hop: (call, why) => group.commit({ call, kind: why, detail: { ...call.facts, why } }),

    assertStillUsable: (call) => assertStillUsable(database.queries, call, clock()),

    end: async (call, outcome, detail, also) => {
      const entry: Entry = { call, kind: 'end', outcome, detail }
      try {
        if (!also) await group.commitLater(entry)
        else {
          await inTransaction(async (tx) => {
            await writeAlone(tx, entry)
            await also(tx)
          })
        }
      } catch (error) {
        // The call itself is recorded. Its outcome stays unknown, and its answer is sent all the same.
        const ids = { request_id: call.requestId, agent_id: call.agentId, audit_id: call.auditId }
        log.error({ ...ids, err: error }, 'the outcome of a call could not be recorded')
      }
    },

    flush: group.flush,
  }
}

/** The cached standing is shared by other calls: they are then refused before they reach a commit. */
function noteExhausted({ standing: { grant } }: LoggedCall): void {
  grant.calls = Math.max(grant.calls, grant.maxCalls ?? 0)
}
