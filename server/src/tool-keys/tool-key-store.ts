import { sql } from 'kysely'
import type { Agent } from '../agents/agent.ts'
import { agentColumns, toAgent } from '../agents/agent-store.ts'
import { isOver, isRevoked } from '../grants/grant-foundation-store.ts'
import { cacheByVersion } from '../platform/cache/version-cache.ts'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { prepared } from '../platform/database/prepared.ts'
import { fromTime } from '../platform/database/times.ts'
import { bounds } from './tool-key.ts'
import type { ToolKey } from './tool-key.ts'

interface Row {
  key_id: string
  agent_id: string
  /** Of the token that the key was made with: the key ends when it is rotated. */
  agent_token_hash: Uint8Array
  key_hash: Uint8Array
  created_at: number
  expires_at: number
  last_used_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    tool_keys: Row
    tool_key_grants: { key_id: string; grant_id: string }
  }
}

export interface FoundKey {
  key: ToolKey
  agent: Agent
  tokenHash: Buffer
}

/** With a row for each of its grants. */
const findRows = prepared((queries: Queries, { keyHash }: { keyHash: Uint8Array }) =>
  ofCurrentAgents(queries)
    .innerJoin('tool_key_grants', 'tool_key_grants.key_id', 'tool_keys.key_id')
    .select([...agentColumns, 'agents.created_at as agent_created_at'])
    .select(['tool_keys.key_id', 'tool_keys.created_at', 'tool_keys.expires_at', 'tool_keys.last_used_at'])
    .select('tool_key_grants.grant_id')
    .where('tool_keys.key_hash', '=', keyHash)
    .orderBy('tool_key_grants.grant_id'),
)

const findByHash = cacheByVersion(async (queries: Queries, hash: string): Promise<FoundKey | undefined> => {
  const rows = await findRows(queries, { keyHash: Buffer.from(hash, 'latin1') })
  const [row] = rows
  if (!row) return undefined
  return {
    key: toKey(
      row,
      rows.map(({ grant_id }) => grant_id),
    ),
    agent: toAgent({ ...row, created_at: row.agent_created_at }),
    tokenHash: Buffer.from(row.token_hash),
  }
})

export const toolKeyStore = {
  insert: async (
    tx: Queries,
    key: ToolKey,
    hashes: { agentTokenHash: Uint8Array; keyHash: Uint8Array },
  ): Promise<void> => {
    const { keyId, agentId, createdAt, expiresAt } = key
    await tx
      .insertInto('tool_keys')
      .values({
        key_id: keyId,
        agent_id: agentId,
        agent_token_hash: hashes.agentTokenHash,
        key_hash: hashes.keyHash,
        created_at: createdAt.getTime(),
        expires_at: expiresAt.getTime(),
        last_used_at: null,
      })
      .execute()
    const grants = key.grantIds.map((grantId) => ({ key_id: keyId, grant_id: grantId }))
    await tx.insertInto('tool_key_grants').values(grants).execute()
  },

  /** With its agent, if that is enabled and has not rotated its token. It may have expired. */
  findByHash: (queries: Queries, keyHash: Buffer) => findByHash(queries, keyHash.toString('latin1')),

  /** Which of these hashes are of keys that have not ended, in hex. */
  findCurrent: async (queries: Queries, keyHashes: readonly Buffer[], now: Date): Promise<Set<string>> => {
    if (keyHashes.length === 0) return new Set()
    const rows = await ofCurrentAgents(queries)
      .select('tool_keys.key_hash')
      .where('tool_keys.key_hash', 'in', keyHashes)
      .where('tool_keys.expires_at', '>', now.getTime())
      .execute()
    return new Set(rows.map((row) => Buffer.from(row.key_hash).toString('hex')))
  },

  /** Those that still open something, newest first. */
  list: async (queries: Queries, agentId: string, now: Date): Promise<ToolKey[]> => {
    const usable = ofCurrentAgents(queries)
      .innerJoin('tool_key_grants', 'tool_key_grants.key_id', 'tool_keys.key_id')
      .innerJoin('grants', 'grants.grant_id', 'tool_key_grants.grant_id')
      .innerJoin('grant_usage', 'grant_usage.grant_id', 'grants.grant_id')
      .leftJoin('connections', 'connections.connection_id', 'grants.connection_id')
      .leftJoin('users', 'users.user_id', 'grants.user_id')
      .select('tool_keys.key_id')
      .distinct()
      .where('tool_keys.agent_id', '=', agentId)
      .where('tool_keys.expires_at', '>', now.getTime())
      .where(sql<boolean>`not ${isRevoked}`)
      .where(sql<boolean>`not ${isOver(now)}`)
      .orderBy('tool_keys.key_id', 'desc')
      .limit(bounds.keysOfAgent)
    const rows = await queries
      .selectFrom('tool_keys')
      .innerJoin('tool_key_grants', 'tool_key_grants.key_id', 'tool_keys.key_id')
      .select(['tool_keys.key_id', 'tool_keys.agent_id', 'tool_keys.created_at', 'tool_keys.expires_at'])
      .select(['tool_keys.last_used_at', 'tool_key_grants.grant_id'])
      .where('tool_keys.key_id', 'in', usable)
      .orderBy('tool_keys.key_id', 'desc')
      .orderBy('tool_key_grants.grant_id')
      .execute()
    return [...Map.groupBy(rows, ({ key_id }) => key_id).values()].flatMap((of) => {
      const [first] = of
      return first
        ? [
            toKey(
              first,
              of.map(({ grant_id }) => grant_id),
            ),
          ]
        : []
    })
  },

  markUsed: async (queries: Queries, keyId: string, now: Date): Promise<void> => {
    await queries.updateTable('tool_keys').set({ last_used_at: now.getTime() }).where('key_id', '=', keyId).execute()
  },

  /** Undefined if this agent has no such key. */
  delete: async (tx: Queries, agentId: string, keyId: string, now: Date): Promise<ToolKey | undefined> => {
    const grants = await tx.selectFrom('tool_key_grants').select('grant_id').where('key_id', '=', keyId).execute()
    const row = await tx
      .deleteFrom('tool_keys')
      .where('key_id', '=', keyId)
      .where('agent_id', '=', agentId)
      .where('expires_at', '>', now.getTime())
      .returning(['key_id', 'agent_id', 'created_at', 'expires_at', 'last_used_at'])
      .executeTakeFirst()
    return (
      row &&
      toKey(
        row,
        grants.map(({ grant_id }) => grant_id),
      )
    )
  },

  dropOfAgent: async (tx: Queries, agentId: string): Promise<void> => {
    await tx.deleteFrom('tool_keys').where('agent_id', '=', agentId).execute()
  },

  /** Deletes a batch; returns how many. */
  dropExpired: (tx: Queries, now: Date): Promise<number> =>
    deleteBatch(tx, 'tool_keys', 'key_id', sql`expires_at <= ${now.getTime()}`),
}

export type ToolKeyStore = typeof toolKeyStore

/** Keys of agents that are enabled and still have the token that the key was made with. */
function ofCurrentAgents(queries: Queries) {
  return queries
    .selectFrom('tool_keys')
    .innerJoin('agents', (join) =>
      join
        .onRef('agents.agent_id', '=', 'tool_keys.agent_id')
        .onRef('agents.token_hash', '=', 'tool_keys.agent_token_hash'),
    )
    .where('agents.disabled_at', 'is', null)
}

function toKey(
  row: Pick<Row, 'key_id' | 'agent_id' | 'created_at' | 'expires_at' | 'last_used_at'>,
  grantIds: readonly string[],
): ToolKey {
  return {
    keyId: row.key_id,
    agentId: row.agent_id,
    grantIds,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    lastUsedAt: fromTime(row.last_used_at),
  }
}
