/**
 * Whether what a connection sets stays with it. Behind a pooler that works by transaction every statement may reach another
 * session, where nothing is prepared and no limit set: the service refuses to start there.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { ClientConfig } from 'pg'
import { destroy } from './postgres-pool.ts'

/** The pooler in front of the database passes sessions from one client to the next. */
export class SessionsShared extends Error {
  constructor() {
    super('the database is behind a pooler that works by transaction')
    this.name = 'SessionsShared'
  }
}

export async function assertOwnSessions(options: ClientConfig): Promise<void> {
  const [one, other] = [new pg.Client(options), new pg.Client(options)]
  // Without a listener an error would end the process; whoever waits for an answer hears of it.
  for (const client of [one, other]) client.on('error', () => undefined)
  try {
    await one.connect()
    await other.connect()
    const mark = randomUUID()
    await one.query(`set sallyport.session = '${mark}'`)
    // A pooler that works by transaction gives this one the session that has just become free.
    await other.query('begin')
    await other.query('select 1')
    const { rows } = await one.query<{ mark: string }>(`select current_setting('sallyport.session', true) as mark`)
    if (rows[0]?.mark !== mark) throw new SessionsShared()
  } finally {
    destroy(one)
    destroy(other)
  }
}
