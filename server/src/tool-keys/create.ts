import type { AuditWriter } from '../audit/audit-log.ts'
import type { CallingAgent } from '../agents/agent.ts'
import { recordedNames } from '../grants/standing.ts'
import type { Standing } from '../grants/standing.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import { refusalFor, whyUnusable } from '../grants/usable.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import { hashToken, mintToken } from '../platform/tokens.ts'
import { bounds } from './tool-key.ts'
import type { ToolKey } from './tool-key.ts'
import type { ToolKeyStore } from './tool-key-store.ts'

export interface ToolKeyNeeds {
  database: Database
  standings: StandingStore
  toolKeys: ToolKeyStore
  audit: AuditWriter
  clock: Clock
}

/** The agent's row is locked (`onBehalfOf`), so its keys are counted one at a time. */
export async function createToolKey(
  { database, standings, toolKeys, audit, clock }: ToolKeyNeeds,
  { agent: { agentId }, tokenHash }: CallingAgent,
  { grantIds, lifetimeSeconds }: { grantIds: readonly string[]; lifetimeSeconds: number },
  requestId: string,
): Promise<{ key: ToolKey; secret: Secret }> {
  const secret = mintToken('key')
  return database.transaction(async (tx) => {
    const now = clock()
    await takeFromLimit(tx, `tool-keys:${agentId}`, perHour(bounds.createdPerHour), now)
    const found: Standing[] = []
    for (const [index, grantId] of grantIds.entries()) {
      found.push(await activeGrant(standings, tx, { agentId, grantId, field: `grant_ids.${index}` }, now))
    }
    if ((await toolKeys.list(tx, agentId, now)).length >= bounds.keysOfAgent) {
      const message = `This agent has ${bounds.keysOfAgent} keys for tools. Revoke some, or wait until one expires.`
      throw new ServiceError('rate_limited', { message, retryAfterSeconds: 60 })
    }
    const expiresAt = new Date(now.getTime() + lifetimeSeconds * 1000)
    const key: ToolKey = {
      ...{ keyId: newId('key', now), agentId, grantIds },
      ...{ createdAt: now, expiresAt, lastUsedAt: null },
    }
    await toolKeys.insert(tx, key, { agentTokenHash: tokenHash, keyHash: hashToken(secret) })
    for (const standing of found) {
      await audit.append(tx, {
        ...{ event: 'tool_key.created', at: now, requestId, agentId, ...recordedNames(standing) },
        detail: { key_id: key.keyId, expires_at: expiresAt.toISOString() },
      })
    }
    return { key, secret }
  })
}

async function activeGrant(
  standings: StandingStore,
  tx: Queries,
  { agentId, grantId, field }: { agentId: string; grantId: string; field: string },
  now: Date,
): Promise<Standing> {
  const standing = await standings.find(tx, agentId, grantId)
  if (!standing) throw new ServiceError('grant_not_found', { field })
  if (standing.grant.kind === 'sandbox') {
    const message = `"${field}" is a grant for the sandbox, which tools can't use. Call it with POST /v4/proxy.`
    throw new ServiceError('invalid_field', { field, message })
  }
  // A connection that needs a new sign-in may be renewed while the key lasts.
  const reason = whyUnusable({ ...standing, connection: null, isTokenCurrent: true }, now)
  if (reason) throw refusalFor(reason, field)
  return standing
}
