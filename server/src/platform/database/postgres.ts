/** Kysely on pg. Away from this machine the server must show a certificate that we can verify. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresDialect } from 'kysely'
import pg from 'pg'
import type { ClientConfig, PoolConfig } from 'pg'
import { isLoopback } from '../config/platform-settings.ts'
import type { Secret } from '../secret.ts'
import { createDatabase } from './database.ts'
import type { Database, Shortcut } from './database.ts'
import { coalesce } from './coalesce-query.ts'
import { createPipeline } from './postgres-pipeline.ts'
import type { Pipeline } from './postgres-pipeline.ts'
import { createPool, statement } from './postgres-pool.ts'
import type { PoolOptions } from './postgres-pool.ts'
import { createProbe } from './postgres-probe.ts'
import { assertOwnSessions } from './postgres-sessions.ts'

const int8 = pg.types.builtins.INT8

/**
 * Keys alone are looked up here. A table must not be read from end to end for them, be it by its index: one that was
 * never analysed, or was when it was small, looks as if that were cheaper.
 */
const byKeys = `
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off`

/** Whoever has the row may be waiting for the record's chain, which is ours until the commit: better do it otherwise. */
const patientBriefly = 'set lock_timeout = 50'

/** In milliseconds, but for the last. */
const usualLimits = {
  connect: 5_000,
  /** The server ends a statement first, and says so. Past that it is silent, and its connection is given up. */
  statement: 10_000,
  silence: 12_000,
  /** The statements that every call needs are small. */
  pipelineSilence: 5_000,
  probe: 2_000,
  close: 3_000,
  wait: 10_000,
  waiting: 1_000,
}

export interface PostgresSettings {
  isInsecure: boolean
  poolSize?: number
  /** For migrations, of which a statement takes as long as it takes. */
  hasNoLimits?: boolean
  limits?: Partial<typeof usualLimits>
}

export function openPostgres(
  url: Secret,
  { isInsecure, poolSize = 8, hasNoLimits = false, limits = {} }: PostgresSettings,
): Database {
  const most = { ...usualLimits, ...limits }
  const options: ClientConfig = {
    ...postgresOptions(url.reveal(), isInsecure),
    connectionTimeoutMillis: most.connect,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'sallyport',
    types: {
      // Our 64-bit columns are times and counts, which a number holds exactly.
      getTypeParser: (type: typeof int8): unknown => (type === int8 ? Number : pg.types.getTypeParser(type)),
    },
  }
  // Not in the startup message, of which poolers refuse what they don't know.
  const limit = `set statement_timeout = ${most.statement}; set idle_in_transaction_session_timeout = 30000`
  const limited: PoolOptions = { ...options, query_timeout: most.silence, settings: limit }
  const pool = createPool(hasNoLimits ? options : limited, {
    places: poolSize,
    maxWaiting: most.waiting,
    maxWaitMs: most.wait,
  })
  const pipelineOptions = { ...options, query_timeout: most.pipelineSilence }
  const reads = createPipeline(pipelineOptions, `${limit}; ${byKeys}`, pool.distrust)
  const commits = createPipeline(pipelineOptions, `${limit}; ${byKeys}; ${patientBriefly}`, pool.distrust)
  const probe = createProbe({ ...options, connectionTimeoutMillis: most.probe, query_timeout: most.probe })
  const { queries, close, ...database } = createDatabase('postgres', new PostgresDialect({ pool }), shortcutOver(reads))
  return {
    ...database,
    queries,
    runSingleStatement: ({ sql, parameters }) => commits.open()?.run(statement(sql, parameters)),
    probe: probe.run,
    assertOwnSessions: () => assertOwnSessions({ ...options, query_timeout: most.silence }),
    pool: pool.figures,
    close: async () => {
      const closed = Promise.all([reads.close(), commits.close(), probe.close(), close()])
      await Promise.race([closed, sleep(most.close, undefined, { ref: false })])
      pool.destroyAll()
    },
  }
}

function shortcutOver(reads: Pipeline): Shortcut {
  const version = coalesce(async () => {
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
