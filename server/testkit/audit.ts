import type {} from '../src/audit/audit-chain-store.ts'
import type { App } from '../src/running-app.ts'
import type { Database } from '../src/platform/database/database.ts'
import { newId } from '../src/platform/ids.ts'

export interface RecordedEvent {
  audit_id: string
  event: string
  at: number
  request_id: string | null
  agent_id: string | null
  user_id: string | null
  grant_id: string | null
  detail: any
}

interface Recording {
  database: Database
  app?: Pick<App, 'settle'>
}

/** The audit records, oldest first: all except chain starts, or the events with this prefix. */
export async function recorded({ database, app }: Recording, prefix = ''): Promise<RecordedEvent[]> {
  await app?.settle()
  const names = ['audit_id', 'event', 'at', 'request_id', 'agent_id', 'user_id', 'grant_id'] as const
  const columns = [...names, 'outcome', 'detail'] as const
  const rows = await database.queries.selectFrom('audit_records').select(columns).orderBy('sequence').execute()
  return rows
    .filter(({ event }) => event !== 'audit.chain_started' && event.startsWith(prefix))
    .map(({ outcome, ...row }) => ({
      ...row,
      detail: {
        ...(row.event === 'proxy.outcome' && outcome !== null && { outcome }),
        ...(JSON.parse(row.detail) as object),
      },
    }))
}

interface Seeded {
  agentId?: string
  /** The approximate length of each. */
  bytes?: number
  at?: Date
}

/** Records many refused calls in the fastest way: unchained. */
export async function seedRecords(
  { queries }: Database,
  count: number,
  { agentId, bytes = 50, at = new Date('2026-11-15T12:00:00Z') }: Seeded = {},
): Promise<void> {
  const path = `/${'a'.repeat(bytes)}`
  const detail = JSON.stringify({ method: 'GET', host: 'api.example.com', path })
  const common = { event: 'proxy.refused', outcome: 'refused', at: at.getTime(), agent_id: agentId ?? null, detail }
  for (let made = 0; made < count; made += 2_000) {
    const length = Math.min(2_000, count - made)
    const rows = Array.from({ length }, () => ({ ...common, audit_id: newId('aud', at) }))
    await queries.insertInto('audit_records').values(rows).execute()
  }
}
