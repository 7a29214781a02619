/**
 * Compares the replaced database with the backup. What was taken away since stays taken away, a token that was renewed since
 * stays renewed, and what is lost is counted. The replaced database is `main` here, the backup is attached.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Head } from '../../audit/audit-hash.ts'

export interface LostHead extends Head {
  mac: Uint8Array | null
}

export interface Comparison {
  /** Ends of chains beyond the backup. */
  lostHeads: LostHead[]
  lostRecords: number
  lostGrants: { grantId: string; agent: string; at: Date }[]
  /** How many rows each statement changed. */
  kept: Record<string, number>
}

/** Rows of the backup that ended in the replaced database. */
const ended = (table: string, id: string, columns: string[], [mark] = columns) => `
  update restored.${table} as kept set ${columns.map((column) => `${column} = former.${column}`).join(', ')}
  from main.${table} as former
  where former.${id} = kept.${id} and former.${mark} is not null and kept.${mark} is null`

const tokens = ['credential', 'access_token', 'refresh_token'].flatMap((column) => [column, `${column}_key_id`])
const ofConnection = [...tokens, 'status', 'expires_at', 'obtained_at', 'is_refreshed', 'version', 'auth_method']
const isKnownKey = (column: string) =>
  `(former.${column} is null or former.${column} in (select key_id from restored.vault_keys))`

/** In this order: a revoked connection is not renewed. */
const statements: Record<string, string> = {
  grants: ended('grants', 'grant_id', ['revoked_at', 'revoked_by']),
  usage: `update restored.grant_usage as kept set calls = max(kept.calls, former.calls), is_open = min(kept.is_open, former.is_open)
    from main.grant_usage as former where former.grant_id = kept.grant_id
    and (former.calls > kept.calls or former.is_open < kept.is_open)`,
  agents: ended('agents', 'agent_id', ['disabled_at']),
  'agent tokens': `update restored.agents as kept set token_hash = former.token_hash
    from main.agents as former where former.agent_id = kept.agent_id and former.token_hash <> kept.token_hash`,
  users: ended('users', 'user_id', ['disabled_at']),
  'device approvals': `update restored.users as kept set requires_device = 1
    from main.users as former where former.user_id = kept.user_id and former.requires_device > kept.requires_device`,
  devices: ended('devices', 'device_id', ['revoked_at']),
  'device keys': `update restored.devices as kept set key_enrolled_at = null
    from main.devices as former where former.device_id = kept.device_id
    and former.key_enrolled_at is null and kept.key_enrolled_at is not null`,
  'muted agents': `insert or ignore into restored.muted_agents select * from main.muted_agents
    where agent_id in (select agent_id from restored.agents) and user_id in (select user_id from restored.users)`,
  pauses: 'insert or ignore into restored.pauses select * from main.pauses where true',
  providers: `update restored.providers as kept set status = former.status
    from main.providers as former where former.provider_id = kept.provider_id
    and former.status <> kept.status and kept.status = 'active'`,
  connections: `update restored.connections as kept set status = 'revoked', revoked_at = former.revoked_at,
    refresh_lease = null, refresh_lease_until = null, remote_revocation = former.remote_revocation,
    revoke_after = former.revoke_after, ${tokens.map((column) => `${column} = null`).join(', ')}
    from main.connections as former where former.connection_id = kept.connection_id
    and former.status = 'revoked' and kept.status <> 'revoked'`,
  tokens: `update restored.connections as kept set ${ofConnection.map((column) => `${column} = former.${column}`).join(', ')}
    from main.connections as former where former.connection_id = kept.connection_id
    and former.version > kept.version and former.status <> 'revoked' and kept.status <> 'revoked'
    and ${tokens
      .filter((column) => column.endsWith('_key_id'))
      .map(isKnownKey)
      .join(' and ')}`,
}

const ends = (schema: string) => `select chain, max(position) as position, hash, mac from ${schema}.audit_records
  where chain is not null group by chain`

/** Undefined if the two have different schemas, or the replaced one can't be read to the end. */
export function carryOver(replaced: DatabaseSync, draft: string): Comparison | undefined {
  replaced.prepare('attach ? as restored').run(draft)
  try {
    replaced.exec('begin')
    const schemaOf = (name: string) =>
      replaced.prepare(`select max(number) as last from ${name}.migrations`).get()?.['last']
    if (schemaOf('main') !== schemaOf('restored')) throw new TypeError('different schemas')
    const kept = Object.entries(statements).map(([name, text]) => [name, Number(replaced.prepare(text).run().changes)])
    const comparison = { ...lostFrom(replaced), kept: Object.fromEntries(kept) as Record<string, number> }
    replaced.exec('commit')
    return comparison
  } catch {
    if (replaced.isTransaction) replaced.exec('rollback')
    return undefined
  } finally {
    replaced.exec('detach restored')
  }
}

function lostFrom(replaced: DatabaseSync): Omit<Comparison, 'kept'> {
  const rows = replaced
    .prepare(
      `select former.*, coalesce(kept.position, 0) as reached from (${ends('main')}) former
      left join (${ends('restored')}) kept on kept.chain = former.chain where former.position > coalesce(kept.position, 0)`,
    )
    .all() as unknown as (LostHead & { reached: number })[]
  const grants = replaced
    .prepare(
      `select grant_id, name, grants.created_at as at from main.grants join main.agents using (agent_id)
      where grant_id not in (select grant_id from restored.grants) order by grant_id`,
    )
    .all() as { grant_id: string; name: string; at: number }[]
  return {
    lostHeads: rows,
    lostRecords: rows.reduce((sum, { position, reached }) => sum + position - reached, 0),
    lostGrants: grants.map(({ grant_id: grantId, name: agent, at }) => ({ grantId, agent, at: new Date(at) })),
  }
}
