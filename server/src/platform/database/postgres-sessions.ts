/**
 * Checks that a connection keeps its session. Behind a pooler in transaction mode each transaction may run in another
 * session, without our prepared statements and time limits: the service refuses to start there.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { ClientConfig } from 'pg'
import { destroy } from './postgres-connection.ts'

/** The pooler in front of the database shares sessions among clients. */
export class SessionsShared extends Error {
  constructor() {
    super('the database is behind a pooler in transaction mode')
    this.name = 'SessionsShared'
  }
}

export async function assertOwnSessions(options: ClientConfig): Promise<void> {
  const [one, other] = [new pg.Client(options), new pg.Client(options)]
  // Without a listener, an error would end the process. The query that fails reports it.
  for (const client of [one, other]) client.on('error', () => undefined)
  try {
    await one.connect()
    await other.connect()
    const mark = randomUUID()
    await one.query(`set sallyport.session = '${mark}'`)
    // A pooler in transaction mode gives this client the session that has just become free.
    await other.query('begin')
    await other.query('select 1')
    const { rows } = await one.query<{ mark: string }>(`select current_setting('sallyport.session', true) as mark`)
    if (rows[0]?.mark !== mark) throw new SessionsShared()
  } finally {
    destroy(one)
    destroy(other)
  }
}
