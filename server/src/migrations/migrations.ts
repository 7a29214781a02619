import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { applyMigrations } from '../platform/database/migrate.ts'
import type { Migration } from '../platform/database/migrate.ts'
import { foundation } from './0001-foundation.ts'
import { providersAndConnections } from './0002-providers-and-connections.ts'
import { approvals } from './0003-approvals.ts'
import { auditChain } from './0004-audit-chain.ts'
import { idempotency } from './0005-idempotency.ts'
import { legacyV1 } from './0006-legacy-v1.ts'
import { authority } from './0007-authority.ts'
import { cheaperCalls } from './0008-cheaper-calls.ts'
import { sandboxRequests } from './0009-sandbox-requests.ts'
import { activeGrants } from './0010-active-grants.ts'
import { auditLists } from './0011-audit-lists.ts'
import { credentials } from './0012-credentials.ts'
import { userPresets } from './0013-user-presets.ts'
import { unusedAgents } from './0014-unused-agents.ts'
import { grantTerms } from './0015-grant-terms.ts'
import { heldCalls } from './0016-held-calls.ts'
import { toolKeys } from './0017-tool-keys.ts'
import { gateway } from './0018-gateway.ts'
import { pauses } from './0019-pauses.ts'
import { operatorSessions } from './0020-operator-sessions.ts'
import { termsVersions } from './0021-terms-versions.ts'
import { agentNames } from './0022-agent-names.ts'
import { mailSubscriptions } from './0023-mail-subscriptions.ts'

/**
 * In order. A released migration is never edited, and there are no down migrations. docs/storage.md describes the
 * result.
 */
export const migrations: readonly Migration[] = [
  foundation,
  providersAndConnections,
  approvals,
  auditChain,
  idempotency,
  legacyV1,
  authority,
  cheaperCalls,
  sandboxRequests,
  activeGrants,
  auditLists,
  credentials,
  userPresets,
  unusedAgents,
  grantTerms,
  heldCalls,
  toolKeys,
  gateway,
  pauses,
  operatorSessions,
  termsVersions,
  agentNames,
  mailSubscriptions,
]

/** Applies all pending migrations. */
export function migrate(database: Database, clock: Clock, known = migrations): Promise<Migration[]> {
  return applyMigrations(database, clock, known)
}
