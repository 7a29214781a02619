import type { Agent } from '../agents/agent.ts'
import { recordedNames } from '../grants/standing.ts'
import { ServiceError } from '../platform/errors.ts'
import type { ToolKeyNeeds } from './create.ts'
import type { ToolKey } from './tool-key.ts'

/** From now on the key opens nothing; calls in progress with it are ended within about a second. */
export async function revokeToolKey(
  { database, standings, toolKeys, audit, clock }: ToolKeyNeeds,
  { agentId }: Agent,
  keyId: string,
  requestId: string,
): Promise<ToolKey> {
  return database.transaction(async (tx) => {
    const now = clock()
    const key = await toolKeys.delete(tx, agentId, keyId, now)
    if (!key) throw new ServiceError('not_found')
    for (const grantId of key.grantIds) {
      const standing = await standings.find(tx, agentId, grantId)
      const names = standing && recordedNames(standing)
      const detail = { key_id: keyId }
      await audit.append(tx, { event: 'tool_key.revoked', at: now, requestId, agentId, ...names, detail })
    }
    return key
  })
}
