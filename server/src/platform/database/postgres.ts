/** Kysely on pg. Away from this machine the server must show a certificate that we can verify. */
import { readFileSync } from 'node:fs'
import { PostgresDialect } from 'kysely'
import pg from 'pg'
import type { PoolConfig } from 'pg'
import { isLoopback } from '../config.ts'
import type { Secret } from '../secret.ts'
import { createDatabase } from './database.ts'
import type { Database } from './database.ts'

const int8 = pg.types.builtins.INT8

export function openPostgres(url: Secret, { isInsecure }: { isInsecure: boolean }): Database {
  const pool = new pg.Pool({
    ...postgresOptions(url.reveal(), isInsecure),
    max: 10,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    application_name: 'sallyport',
    types: {
      // Our 64-bit columns are times and counts, which a number holds exactly.
      getTypeParser: (type: typeof int8): unknown => (type === int8 ? Number : pg.types.getTypeParser(type)),
    },
  })
  // A connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return createDatabase('postgres', new PostgresDialect({ pool }))
}

/** TLS is decided here, not by the URL's sslmode, whose weaker values encrypt without knowing to whom. */
export function postgresOptions(text: string, isInsecure: boolean): Pick<PoolConfig, 'connectionString' | 'ssl'> {
  const url = new URL(text)
  const authority = url.searchParams.get('sslrootcert')
  const wantsTls = !['', 'disable', 'allow', 'prefer'].includes(url.searchParams.get('sslmode') ?? '')
  for (const name of ['ssl', 'sslmode', 'sslrootcert', 'uselibpqcompat']) url.searchParams.delete(name)
  const host = url.searchParams.get('host') ?? url.hostname
  const isLocal = host === '' || host.startsWith('/') || isLoopback(host) || decodeURIComponent(host).startsWith('/')
  const isVerified = !isInsecure && (!isLocal || wantsTls)
  const ca = authority === null ? {} : { ca: readFileSync(authority, 'utf8') }
  const ssl = isVerified ? { rejectUnauthorized: true, ...ca } : wantsTls && { rejectUnauthorized: false }
  return { connectionString: url.href, ssl }
}
