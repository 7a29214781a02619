import type { Agent } from '../agents/agent.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import type { Grant } from './grant.ts'
import type { GrantStore } from './grant-store.ts'

export interface RevokeGrantNeeds {
  database: Database
  grants: GrantStore
  audit: AuditWriter
  clock: Clock
}

/** The user who approved a grant, or the agent that has it. */
export type GrantParty = { user: User } | { agent: Agent }

export function findOfParty(
  grants: GrantStore,
  queries: Queries,
  party: GrantParty,
  grantId: string,
): Promise<Grant | undefined> {
  return 'user' in party
    ? grants.findOfUser(queries, party.user.userId, grantId)
    : grants.findOfAgent(queries, party.agent.agentId, grantId)
}

/** Its connection may be another account's from now on. Returns how many there were. */
export async function endGrantsOf(
  { grants, audit }: Pick<RevokeGrantNeeds, 'grants' | 'audit'>,
  tx: Queries,
  connectionId: string,
  at: Date,
  requestId: string,
): Promise<number> {
  const ended = await grants.revokeOfConnection(tx, connectionId, at)
  for (const { grantId, agentId, userId } of ended) {
    const detail = { by: 'user', reason: 'credential_replaced' }
    const who = { agentId, userId: userId ?? undefined, grantId, connectionId }
    await audit.append(tx, { event: 'grant.revoked', at, requestId, ...who, detail })
  }
  return ended.length
}

/** Its user revokes it, or its agent gives it up. Idempotent. */
export async function revokeGrant(
  { database, grants, audit, clock }: RevokeGrantNeeds,
  party: GrantParty,
  grantId: string,
  requestId: string,
): Promise<Grant> {
  return database.transaction(async (tx) => {
    const found = await findOfParty(grants, tx, party, grantId)
    if (!found) throw new ServiceError('not_found')
    const at = clock()
    const by = 'user' in party ? 'user' : 'agent'
    if (!(await grants.revoke(tx, grantId, by, at))) return (await findOfParty(grants, tx, party, grantId)) ?? found
    const { agentId, userId } = found
    await audit.append(tx, {
      event: 'grant.revoked',
      at,
      requestId,
      agentId,
      userId: userId ?? undefined,
      grantId,
      detail: { by },
    })
    return { ...found, revokedAt: at, revokedBy: by }
  })
}
