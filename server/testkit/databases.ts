import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Engine } from '../src/platform/database/database.ts'

/** Runs the same tests once on SQLite and once on PostgreSQL. */
export function onBothDatabases(name: string, define: (engine: Engine) => void): void {
  for (const engine of ['sqlite', 'postgres'] as const) {
    describe(`${name} (${engine})`, () => {
      define(engine)
    })
  }
}

/** A folder that is deleted when the test ends. */
export function temporaryFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-test-'))
  t.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** An empty database on the tests' PostgreSQL server, dropped when the test ends. */
export function temporaryPostgres(t: Pick<TestContext, 'after'>): Promise<string> {
  return createPostgres(t, '')
}

/** A migrated database, copied from a template if the test run has prepared one, which is much faster. */
export function migratedPostgres(t: Pick<TestContext, 'after'>): Promise<string> {
  const template = process.env['TEST_DATABASE_TEMPLATE']
  // The file_copy strategy takes half the time of wal_log, the default.
  return createPostgres(t, template === undefined ? '' : `template ${template} strategy file_copy`)
}

/** The same for SQLite. Without a prepared copy the test has to migrate the database itself. */
export function placeMigratedSqlite(file: string): void {
  const template = process.env['TEST_SQLITE_TEMPLATE']
  if (template !== undefined) copyFileSync(template, file)
}

async function createPostgres(t: Pick<TestContext, 'after'>, from: string): Promise<string> {
  const server = process.env['TEST_DATABASE_URL']
  if (!server) throw new Error('TEST_DATABASE_URL is not set; run the tests with: npm test -- <file>')
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(server, `create database ${name} ${from}`)
  t.after(() => onServer(server, `drop database if exists ${name} with (force)`))
  return withDatabase(server, name)
}

/** The URL of another database on the same server. */
export function withDatabase(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** One connection for the whole process. It keeps the process alive only while a statement runs. */
const administrators = new Map<string, ReturnType<typeof administratorOf>>()

/** Runs a statement such as `create database`. */
export async function onServer(url: string, statement: string): Promise<void> {
  const known = administrators.get(url) ?? administratorOf(url)
  administrators.set(url, known)
  const { client, socket } = known
  if (known.running++ === 0) socket.ref()
  try {
    await known.isConnected
    await client.query(statement)
  } finally {
    if (--known.running === 0) socket.unref()
  }
}

function administratorOf(url: string) {
  const socket = new Socket()
  const client = new pg.Client({ connectionString: url, stream: () => socket })
  const forget = () => administrators.delete(url)
  client.on('error', forget).on('end', forget)
  const isConnected = client.connect()
  isConnected.catch(forget)
  return { client, socket, isConnected, running: 0 }
}
