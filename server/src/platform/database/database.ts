import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, sql } from 'kysely'
import type { Dialect, Kysely as KyselyType } from 'kysely'
import { isRetryable } from './failures.ts'
import type { Tables } from './tables.ts'

export type Engine = 'sqlite' | 'postgres'

/** What runs queries: the database itself, or a transaction on it. */
export type Queries = KyselyType<Tables>

export interface Database {
  engine: Engine
  queries: Queries
  /** All or nothing. Run again when it lost a race, so it may hold nothing but queries: no network, no other effect. */
  transaction: <T>(work: (tx: Queries) => Promise<T>) => Promise<T>
  close: () => Promise<void>
}

const attempts = 6

export function createDatabase(engine: Engine, dialect: Dialect): Database {
  const queries = new Kysely<Tables>({ dialect })
  return {
    engine,
    queries,
    transaction: async (work) => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await queries.transaction().execute(work)
        } catch (error) {
          if (attempt === attempts || !isRetryable(error)) throw error
          await sleep(Math.random() * 10 * 2 ** attempt)
        }
      }
    },
    close: () => queries.destroy(),
  }
}

/** Resolves when the database answers, and can be written to as far as it tells. */
export async function pingDatabase({ queries }: Database): Promise<void> {
  await sql`select 1 from migrations limit 1`.execute(queries)
}
