import type {} from '../src/audit/audit-chain-store.ts'
import type { App } from '../src/app.ts'
import type { Database } from '../src/platform/database/database.ts'

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

/** What is on record, oldest first: all but where chains start, or the events that begin with these words. */
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
