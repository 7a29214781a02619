/**
 * Checks whether the database can be written to, on a connection of its own with a deadline, so that the result depends
 * neither on a busy pool nor on a connection that hangs.
 */
import pg from 'pg'
import type { Client, ClientConfig } from 'pg'
import { required } from './migrate.ts'
import { destroy } from './postgres-connection.ts'
import type { Primary } from './postgres-primary.ts'

const write = `
  insert into rate_limits (key, full_at) values ('probe', 0)
  on conflict (key) do update set full_at = excluded.full_at
  returning (select ${required} from migrations) as required`

export function createProbe(options: ClientConfig, primary: Primary) {
  let client: Client | undefined
  let isClosed = false

  const connected = async (): Promise<Client> => {
    if (isClosed) throw new Error('the database is not open')
    if (client) return client
    await primary.find()
    const made = new pg.Client({ ...options, ...primary.options() })
    const lost = () => {
      if (client === made) client = undefined
    }
    made.on('error', lost)
    made.on('end', lost)
    try {
      await made.connect()
    } catch (error) {
      primary.doubt()
      throw error
    }
    client = made
    return made
  }

  const drop = () => {
    const last = client
    client = undefined
    if (last) destroy(last)
  }

  return {
    /** Resolves to the newest migration that a version has to know. */
    run: async (): Promise<number> => {
      const asked = await connected()
      try {
        const { rows } = await asked.query<{ required: number }>(write)
        return rows[0]?.required ?? 0
      } catch (error) {
        primary.doubt()
        client = undefined
        destroy(asked)
        throw error
      }
    },
    drop,
    close: async (): Promise<void> => {
      isClosed = true
      const last = client
      client = undefined
      await last?.end()
    },
  }
}
