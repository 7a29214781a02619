/** The real app on a real database, with a fixed clock. It is called in process, without a port. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createApp } from '../src/app.ts'
import type { App } from '../src/running-app.ts'
import { readConfig } from '../src/config/config.ts'
import type { Config } from '../src/config/config.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import type { Database, Engine } from '../src/platform/database/database.ts'
import { migrate, migrations } from '../src/migrations/migrations.ts'
import { createEgress } from '../src/platform/egress/egress.ts'
import { egressProxyOf } from '../src/platform/egress/egress-settings.ts'
import type { Egress } from '../src/platform/egress/egress.ts'
import type { Lookup } from '../src/platform/egress/resolver.ts'
import { masterKeySource, openDatabase, readAdminToken } from '../src/platform/operations/instance.ts'
import { createLog } from '../src/platform/operations/log.ts'
import { mintToken } from '../src/platform/tokens.ts'
import { newMasterKey } from '../src/platform/vault/master-keys.ts'
import { openVault } from '../src/platform/vault/vault.ts'
import type { Vault } from '../src/platform/vault/vault.ts'
import { fixedClock } from './clock.ts'
import type { FixedClock } from './clock.ts'
import { migratedPostgres, placeMigratedSqlite, temporaryFolder } from './databases.ts'
import { userAgent } from './egress.ts'

interface Call {
  token?: string | undefined
  body?: unknown
  headers?: Record<string, string>
  /** The client address of the call. */
  from?: string
}

export interface Reply {
  status: number
  body: any
  text: string
  headers: Record<string, number | string | string[] | undefined>
}

export interface TestService {
  app: App
  config: Config
  database: Database
  vault: Vault
  egress: Egress
  clock: FixedClock
  adminToken: string
  log: string[]
  call: (method: string, path: string, call?: Call) => Promise<Reply>
  /** Collects everything that responses contain from now on. */
  keepAnswers: () => string[]
  registerAgent: (name?: string) => Promise<{ agentId: string; token: string }>
  logIn: (whom?: object) => Promise<{ userId: string; token: string; cookie: string }>
}

export async function startService(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  overrides: Environment = {},
  clock: FixedClock = fixedClock(),
  /** A fake DNS lookup. */
  lookup?: Lookup,
  /** Changes the app before the first call. */
  prepare?: (app: App) => void,
  /** Those of another version. */
  known = migrations,
): Promise<TestService> {
  // Hooks run in reverse order: the database stays open until the app has closed.
  const endings: (() => unknown)[] = []
  const scope = { after: (ending: () => unknown) => void endings.unshift(ending) } as Pick<TestContext, 'after'>
  t.after(async () => {
    for (const end of endings) await end()
  })
  const folder = temporaryFolder(scope)
  if (engine === 'sqlite') placeMigratedSqlite(join(folder, 'sallyport.db'))
  const env: Environment = {
    SALLYPORT_DATA_DIR: folder,
    SALLYPORT_LOG_FORMAT: 'json',
    // Otherwise each of hundreds of services would write a reserve file, and a full disk would fail all tests.
    SALLYPORT_DISK_FLOOR_BYTES: '0',
    // How busy this process is depends on the machine and on the test itself.
    SALLYPORT_UNAPPROVED_REQUESTS_PER_SECOND: '0',
    SALLYPORT_ADMIN_TOKEN: mintToken('admin').reveal(),
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
    ...(engine === 'postgres' &&
      overrides['DATABASE_URL'] === undefined && { DATABASE_URL: await migratedPostgres(scope) }),
    ...overrides,
  }
  const config = readConfig(env)
  const log: string[] = []
  const database = openDatabase(config)
  await migrate(database, clock.now, known)
  const vault = await openVault({ database, readMasterKeys: masterKeySource(config).read, clock: clock.now })
  const adminToken = readAdminToken(config)
  const { egressAllow, egressCaFile } = config
  const ca = egressCaFile && { ca: egressCaFile.pem }
  const egress = createEgress({
    allow: egressAllow,
    userAgent,
    proxy: egressProxyOf(config),
    ...ca,
    ...(lookup && { lookup }),
  })
  const app = await createApp({
    config,
    database,
    vault,
    egress,
    adminToken,
    clock: clock.now,
    newestMigration: known.length,
    ...(clock.offsetMs && { clockOffsetMs: clock.offsetMs }),
    log: createLog(config, { write: (line) => log.push(line) }),
  })
  prepare?.(app)
  scope.after(async () => {
    app.gateway.destroyAll()
    await app.gateway.close()
    await app.http.close()
    await app.heldCallsMade()
    await app.jobsEnded()
    await egress.close()
    await database.close()
  })

  const answers: string[][] = []
  const call: TestService['call'] = async (method, path, { token, body, headers = {}, from } = {}) => {
    const reply = await app.http.inject({
      method: method as 'GET',
      url: path,
      headers: {
        host: config.baseUrl.host,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(from === undefined ? {} : { remoteAddress: from }),
    })
    for (const kept of answers) kept.push(JSON.stringify(reply.headers), reply.payload)
    const isJson = String(reply.headers['content-type']).startsWith('application/json')
    return {
      status: reply.statusCode,
      body: isJson && reply.payload !== '' ? (JSON.parse(reply.payload) as unknown) : undefined,
      text: reply.payload,
      headers: reply.headers,
    }
  }

  return {
    app,
    config,
    database,
    vault,
    egress,
    clock,
    adminToken: adminToken.reveal(),
    log,
    call,
    keepAnswers: () => {
      const kept: string[] = []
      answers.push(kept)
      return kept
    },
    registerAgent: async (name = 'an agent') => {
      const { status, body, text } = await call('POST', '/v4/agents/register', { body: { name } })
      if (status !== 201) throw new Error(`registration answered ${status}: ${text}\n${log.slice(-5).join('')}`)
      const { agent, access_token: token } = body as { agent: { agent_id: string }; access_token: string }
      return { agentId: agent.agent_id, token }
    },
    logIn: async (whom = {}) => {
      const issued = await call('POST', '/v4/auth/login-tokens', { token: adminToken.reveal(), body: whom })
      const { login_token, user_id: userId } = issued.body as { login_token: string; user_id: string }
      const { body } = await call('POST', '/v4/auth/login', { body: { login_token } })
      const { session_token: token } = body as { session_token: string }
      return { userId, token, cookie: `svc_session=${token}` }
    },
  }
}
