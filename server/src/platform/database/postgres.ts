/** Kysely on pg. A server on another machine must have a certificate that can be verified. */
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
import { createPrimary } from './postgres-primary.ts'
import type { Host, OnChosen } from './postgres-primary.ts'
import { createProbe } from './postgres-probe.ts'
import { assertOwnSessions } from './postgres-sessions.ts'
import { nameOfHost, urlsOfHosts } from './postgres-urls.ts'

const { INT8: int8, BYTEA: bytea } = pg.types.builtins
const parsers = new Map<number, (text: string) => unknown>([
  [int8, Number],
  [bytea, readBytes],
])

/**
 * For look-ups by key. Forbids plans that scan a whole table or index: for a table that was never analysed, or only when
 * it was small, the planner would consider them cheaper.
 */
const byKeys = `
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off`

/** The holder of the row may be waiting for the audit chain that this statement holds: give up soon and take the slow path. */
const shortLockTimeout = 'set lock_timeout = 50'

/** In milliseconds, except the last. */
const usualLimits = {
  connect: 5_000,
  /** The server cancels a statement after this; if it does not answer until `silence`, the connection is given up. */
  statement: 10_000,
  silence: 12_000,
  /** Pipelined statements are small. */
  pipelineSilence: 5_000,
  probe: 2_000,
  close: 3_000,
  wait: 10_000,
  waiting: 1_000,
}

export interface PostgresSettings {
  isInsecure: boolean
  poolSize?: number
  /** For migrations, whose statements may take long. */
  hasNoLimits?: boolean
  limits?: Partial<typeof usualLimits>
  /** Called when one of several hosts was chosen. */
  onChosen?: OnChosen
}

export function openPostgres(
  url: Secret,
  { isInsecure, poolSize = 8, hasNoLimits = false, limits = {}, onChosen }: PostgresSettings,
): Database {
  const most = { ...usualLimits, ...limits }
  const options: ClientConfig = {
    connectionTimeoutMillis: most.connect,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'sallyport',
    types: {
      // Our 64-bit columns are times and counts below 2^53.
      getTypeParser: (type: typeof int8): unknown => parsers.get(type) ?? pg.types.getTypeParser(type),
    },
  }
  // Not in the startup message: poolers refuse parameters that they don't know.
  const limit = `set statement_timeout = ${most.statement}; set idle_in_transaction_session_timeout = 30000`
  const limited: PoolOptions = { ...options, query_timeout: most.silence, settings: limit }
  const hosts = urlsOfHosts(url.reveal()).map((one): Host => ({
    name: nameOfHost(one),
    options: postgresOptions(one.href, isInsecure),
  })) as [Host, ...Host[]]
  const primary = createPrimary(hosts, most.probe, (name, passedOver) => {
    if (name === usedHost) return
    usedHost = name
    pool.distrust()
    for (const one of [reads, commits, probe]) one.drop()
    onChosen?.(name, passedOver)
  })
  let usedHost: string | undefined
  const pool = createPool(hasNoLimits ? options : limited, primary, poolSize, {
    maxWaiting: most.waiting,
    maxWaitMs: most.wait,
  })
  const pipelineOptions = { ...options, query_timeout: most.pipelineSilence }
  const reads = createPipeline(pipelineOptions, primary, `${limit}; ${byKeys}`, pool.distrust)
  const commits = createPipeline(pipelineOptions, primary, `${limit}; ${byKeys}; ${shortLockTimeout}`, pool.distrust)
  const probe = createProbe({ ...options, connectionTimeoutMillis: most.probe, query_timeout: most.probe }, primary)
  const { queries, close, ...database } = createDatabase('postgres', new PostgresDialect({ pool }), shortcutOver(reads))
  return {
    ...database,
    queries,
    runSingleStatement: ({ sql, parameters }) => commits.open()?.run(statement(sql, parameters)),
    probe: probe.run,
    assertOwnSessions: async () => {
      await primary.find()
      await assertOwnSessions({ ...options, ...primary.options(), query_timeout: most.silence })
    },
    pool: pool.figures,
    ...(hosts.length > 1 && { hosts: primary.states }),
    close: async () => {
      const closed = Promise.all([reads.close(), commits.close(), probe.close(), close()])
      await Promise.race([closed, sleep(most.close, undefined, { ref: false })])
      pool.destroyAll()
    },
  }
}

function shortcutOver(reads: Pipeline): Shortcut {
  const version = coalesce(async () => {
    const pipeline = reads.open()
    if (!pipeline) return undefined
    try {
      const [row] = (await pipeline.run(lastChange)) as { last_change: number }[]
      // Another connection may lead to another server, which has its own count of changes.
      return row && `${pipeline.number} ${row.last_change}`
    } catch {
      return undefined
    }
  })
  return { read: ({ sql, parameters }) => reads.open()?.run(statement(sql, parameters)), version }
}

const lastChange = { name: 'sallyport_last_change', text: 'select last_change from authority' }

const tlsParameters = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'uselibpqcompat']

/** TLS is decided here, not by the URL's sslmode, whose weaker values don't verify the server. */
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
  // Otherwise pg would take the host from the environment (PGHOST).
  if (host === '') searchParams.set('host', 'localhost')
  const isLocal = host === '' || host.startsWith('/') || isLoopback(host)
  const isVerified = !isInsecure && (!isLocal || wantsTls)
  const ssl = (isVerified || wantsTls) && { rejectUnauthorized: isVerified, ...files }
  return { connectionString: url.href, ssl }
}

/** As pg reads it: the last `host` parameter wins over the URL's host. */
function hostOf({ searchParams, hostname }: URL): string {
  return searchParams.getAll('host').at(-1) || decodeURIComponent(hostname)
}

function fileIn(parameters: URLSearchParams, name: string, member: 'ca' | 'cert' | 'key'): object {
  const file = parameters.get(name)
  return file ? { [member]: readFileSync(file, 'utf8') } : {}
}

/** Each value in memory of its own: a small Buffer is a slice of 8 KB, and a cache would keep all of that. */
function readBytes(hex: string): Buffer {
  const digits = hex.slice('\\x'.length)
  const bytes = Buffer.allocUnsafeSlow(digits.length / 2)
  bytes.write(digits, 'hex')
  return bytes
}
