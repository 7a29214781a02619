/** The call log on a real database, with calls of its own that need no HTTP. */
import type { TestContext } from 'node:test'
import { createCallLog } from '../src/call-log/call-log.ts'
import type { CallLog, CallLogMode, CallLogNeeds } from '../src/call-log/call-log.ts'
import type { LoggedCall } from '../src/call-log/entry.ts'
import { verifyAudit } from '../src/audit/verify-audit.ts'
import type { Grant } from '../src/grants/grant.ts'
import type { Engine } from '../src/platform/database/database.ts'
import { newId } from '../src/platform/ids.ts'
import { createLog } from '../src/platform/operations/log.ts'
import { createStores } from '../src/stores.ts'
import { recorded } from './audit.ts'
import { makeUsable } from './grant-states.ts'
import type { GrantInState, Stores } from './grant-states.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export interface TestCallLog {
  service: TestService
  log: CallLog
  stores: Stores
  /** The call log of another instance of the service. */
  another: (needs?: Partial<CallLogNeeds>) => CallLog
  /** A call on a new grant of a new agent. */
  newCall: (terms?: Partial<Grant>, more?: Partial<LoggedCall>) => Promise<LoggedCall>
  callOn: (one: GrantInState, more?: Partial<LoggedCall>) => Promise<LoggedCall>
  /** The same call again, as a separate one. */
  again: (call: LoggedCall) => LoggedCall
  /** How many commits used a single statement, and how many of those succeeded. */
  steps: { tried: number; done: number }
  countOf: (call: LoggedCall) => Promise<number>
  eventsOf: (call: LoggedCall) => Promise<string[]>
  /** The problems that verification finds in the audit log. */
  findings: () => Promise<unknown[]>
}

export async function startCallLog(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  mode: CallLogMode,
): Promise<TestCallLog> {
  const service = await startService(t, engine)
  const { database, clock } = service
  const { queries } = database
  const stores = createStores({ ...service, clock: clock.now })
  const steps = { tried: 0, done: 0 }
  const { insert } = stores.singleStatements
  const singleStatements: typeof stores.singleStatements = {
    insert: (...given) => {
      const inserting = insert(...given)
      if (!inserting) return inserting
      steps.tried++
      return inserting.then(() => {
        steps.done++
      })
    },
  }
  const needs = {
    ...{ ...stores, singleStatements, database, clock: clock.now },
    log: createLog(service.config, { write: (line) => service.log.push(line) }),
  }
  const another: TestCallLog['another'] = (more = {}) => createCallLog({ ...needs, ...more }, mode)
  const log = another()
  const callOn: TestCallLog['callOn'] = async ({ agentId, grantId, tokenHash }, more = {}) => {
    // A copy, so that changes by the log are not shared.
    const standing = structuredClone(await stores.standings.find(queries, agentId, grantId))
    if (!standing) throw new Error('the grant is not there')
    // A recent last use: on PostgreSQL updating it would need a transaction instead of a single statement.
    if (standing.connection) standing.connection.lastUsedAt = clock.now()
    return {
      ...{ agentId, tokenHash, auditId: newId('aud', clock.now()), requestId: 'req_test', route: {} },
      standing,
      destination: { host: 'api.example.com' },
      facts: { method: 'GET', host: 'api.example.com', path: '/', query: [] },
      ...more,
    }
  }
  const again = (call: LoggedCall) => ({ ...call, auditId: newId('aud', clock.now()) })
  const newCall: TestCallLog['newCall'] = async (terms = {}, more) => {
    return callOn(await makeUsable(service, stores, { terms }), more)
  }
  // The first commit starts a chain, and the single statement needs an open PostgreSQL connection.
  const first = await newCall()
  do await log.begin(again(first))
  while (mode === 'single-statement' && steps.done === 0)
  return {
    ...{ service, log, stores, another, newCall, callOn, again, steps },
    countOf: async ({ standing: { grant } }) => {
      const query = queries.selectFrom('grant_usage').select('calls').where('grant_id', '=', grant.grantId)
      return (await query.executeTakeFirstOrThrow()).calls
    },
    eventsOf: async ({ auditId }) =>
      (await recorded(service, 'proxy.')).filter((one) => one.audit_id === auditId).map(({ event }) => event),
    findings: async () => {
      const key = await stores.auditKeys.find(queries)
      if (!key) throw new Error('nothing is on record')
      const parts = {
        chains: stores.auditChains,
        onProgress: () => undefined,
      }
      return (await verifyAudit({ database, key, ...parts })).findings
    },
  }
}
