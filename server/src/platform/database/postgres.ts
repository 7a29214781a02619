/** Kysely on pg. Away from this machine the server must show a certificate that we can verify. */
import { readFileSync } from 'node:fs'
import { PostgresDialect } from 'kysely'
import type { PostgresPool } from 'kysely'
import pg from 'pg'
import type { ClientConfig, Pool, PoolConfig, QueryConfig } from 'pg'
import { isLoopback } from '../config.ts'
import type { Secret } from '../secret.ts'
import { createDatabase } from './database.ts'
import type { Database, Shortcut } from './database.ts'
import { inTurns } from './in-turns.ts'
import { createLine } from './postgres-line.ts'
import type { Line } from './postgres-line.ts'
import { nameOf } from './prepared.ts'

const int8 = pg.types.builtins.INT8

/** Ten connections at most, with the two lines. */
const mostPooled = 8

/**
 * Keys alone are looked up here. A table must not be read from end to end for them, be it by its index: one that was
 * never analysed, or was when it was small, looks as if that were cheaper.
 */
const byKeys = `
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off`

/** Whoever has the row may be waiting for the record's chain, which is ours until the commit: better do it otherwise. */
const patientBriefly = 'set lock_timeout = 50'

export function openPostgres(url: Secret, { isInsecure }: { isInsecure: boolean }): Database {
  const options: ClientConfig = {
    ...postgresOptions(url.reveal(), isInsecure),
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    application_name: 'sallyport',
    types: {
      // Our 64-bit columns are times and counts, which a number holds exactly.
      getTypeParser: (type: typeof int8): unknown => (type === int8 ? Number : pg.types.getTypeParser(type)),
    },
  }
  const pool = new pg.Pool({ ...options, max: mostPooled })
  // A connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  // Past what the server allows a statement there is nobody at the other end any more.
  const reads = createLine({ ...options, query_timeout: 10_000 }, byKeys)
  const commits = createLine({ ...options, query_timeout: 40_000 }, `${byKeys}; ${patientBriefly}`)
  const { queries, close, ...database } = createDatabase(
    'postgres',
    new PostgresDialect({ pool: preparing(pool) }),
    shortcutOver(reads),
  )
  return {
    ...database,
    queries,
    atOnce: ({ sql, parameters }) => commits.open()?.run(statement(sql, parameters)),
    close: async () => {
      await Promise.all([reads.close(), commits.close(), close()])
    },
  }
}

function shortcutOver(reads: Line): Shortcut {
  const version = inTurns(async () => {
    const line = reads.open()
    if (!line) return undefined
    try {
      const [row] = (await line.run(lastChange)) as { last_change: number }[]
      // Another connection may lead to another server, which has changes of its own.
      return row && `${line.number} ${row.last_change}`
    } catch {
      return undefined
    }
  })
  return { read: ({ sql, parameters }) => reads.open()?.run(statement(sql, parameters)), version }
}

const lastChange = { name: 'sallyport_last_change', text: 'select last_change from authority' }

/** What runs again and again is read and planned once for each connection. */
function preparing(pool: Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      const client = await pool.connect()
      // Rows are never streamed: it is always called with a text.
      const query = (text: unknown, values: readonly unknown[] = []) => client.query(statement(String(text), values))
      return {
        query: query as never,
        release: (isBroken) => {
          client.release(isBroken)
        },
      }
    },
  }
}

function statement(text: string, given: readonly unknown[]): QueryConfig {
  const values = [...given]
  const name = nameOf(text)
  return name === undefined ? { text, values } : { name, text, values }
}

const tlsParameters = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'uselibpqcompat']

/** TLS is decided here, not by the URL's sslmode, whose weaker values encrypt without knowing to whom. */
export function postgresOptions(text: string, isInsecure: boolean): Pick<PoolConfig, 'connectionString' | 'ssl'> {
  const url = new URL(text)
  const { searchParams } = url
  const wantsTls = !['', 'disable', 'allow', 'prefer'].includes(searchParams.get('sslmode') ?? '')
  const files = {
    ...fileIn(searchParams, 'sslrootcert', 'ca'),
    ...fileIn(searchParams, 'sslcert', 'cert'),
    ...fileIn(searchParams, 'sslkey', 'key'),
  }
  for (const name of tlsParameters) searchParams.delete(name)
  const host = hostOf(url)
  // pg would look for a host in the environment.
  if (host === '') searchParams.set('host', 'localhost')
  const isLocal = host === '' || host.startsWith('/') || isLoopback(host)
  const isVerified = !isInsecure && (!isLocal || wantsTls)
  const ssl = (isVerified || wantsTls) && { rejectUnauthorized: isVerified, ...files }
  return { connectionString: url.href, ssl }
}

/** As pg reads it: the last parameter of that name counts, and before the host of the URL. */
function hostOf({ searchParams, hostname }: URL): string {
  return searchParams.getAll('host').at(-1) || decodeURIComponent(hostname)
}

function fileIn(parameters: URLSearchParams, name: string, member: 'ca' | 'cert' | 'key'): object {
  const file = parameters.get(name)
  return file ? { [member]: readFileSync(file, 'utf8') } : {}
}
