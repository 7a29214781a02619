/**
 * The supported set-ups: one process on SQLite, two workers on SQLite, three instances on PostgreSQL, and the same through
 * PgBouncer in session mode.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { startSeeded } from '../../bench/contenders.ts'
import type { Scope } from '../../bench/processes.ts'
import { startService } from '../../e2e/running-service.ts'
import type { Environment, RunningService } from '../../e2e/running-service.ts'
import { mountSmallDisk } from '../../e2e/small-disk.ts'
import { freePort } from '../../server/testkit/ports.ts'
import { startPostgres } from '../../server/testkit/postgres-server.ts'
import type { PostgresServer } from '../../server/testkit/postgres-server.ts'
import { startSilentRelay } from '../../server/testkit/silent-relay.ts'
import type { SilentRelay } from '../../server/testkit/silent-relay.ts'
import type { AgentCredentials } from '../attack.ts'
import { startHaproxy } from './haproxy.ts'
import { startPgbouncer } from './pgbouncer.ts'
import type { Pgbouncer } from './pgbouncer.ts'
import type { Build } from './last-release.ts'
import type { World } from './world.ts'

export const kinds = [
  'SQLite',
  'SQLite, 2 workers',
  'PostgreSQL, 3 instances',
  'PostgreSQL through PgBouncer, 3 instances',
] as const
export type Kind = (typeof kinds)[number]

export interface SetUp {
  kind: Kind
  world: World
  /** The port for callers: the service's or HAProxy's. */
  port: number
  instances: RunningService[]
  /** The instance that single-instance faults affect. */
  victim: RunningService
  agents: AgentCredentials[]
  setVictimsClock: (offset: string) => void
  /** The disk of the database. */
  disk: string
  /** Only with PostgreSQL. */
  postgres: Postgres | undefined
  /** Set by faults that need it. */
  lastRelease?: Build
}

export interface Postgres {
  server: PostgresServer
  /** The relay between the instances and the server, or its pooler. */
  relay: SilentRelay
  pooler: Pgbouncer | undefined
  /** For a superuser, not through the relay. */
  run: (statement: string) => Promise<void>
}

const diskMebibytes = 1024
/** Eleven for each of three instances, and as many for one that is started or a command that is run beside them. */
const sessions = 44
const libfaketime = '/usr/$LIB/faketime/libfaketime.so.1'

export async function startSetUp(scope: Scope, kind: Kind, world: World, say: (line: string) => void): Promise<SetUp> {
  const clockFile = join(world.folder, `clock-${kinds.indexOf(kind)}`)
  const setVictimsClock = (offset: string) => {
    writeFileSync(clockFile, offset)
  }
  setVictimsClock('+0')
  const clock = {
    LD_PRELOAD: libfaketime,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    FAKETIME_DISABLE_SHM: '1',
  }
  const hosts = { SALLYPORT_EGRESS_ALLOW: `${world.host},${world.failing.host}` }
  const size = { agents: 40, grantsPerAgent: 1, auditRecords: 20_000, otherHosts: [world.failing.host] }
  const outside = { host: world.host, caFile: world.caFile, profiles: undefined }
  const place = { node: world.node }
  const startFirst = (engine: 'sqlite' | 'postgres', changes: Environment) =>
    startSeeded(scope, engine, outside, size, say, { ...hosts, ...changes, ...clock }, place)

  const disk = mountSmallDisk(scope, diskMebibytes)
  if (disk === undefined) throw new Error('no disk could be mounted')
  if (kind === 'SQLite' || kind === 'SQLite, 2 workers') {
    const folder = join(disk, 'data')
    mkdirSync(folder, { mode: 0o700 })
    // Longer than a process is paused by another fault.
    const several = { SALLYPORT_WORKERS: '2', SALLYPORT_WORKER_STUCK_SECONDS: '15' }
    const workers = kind === 'SQLite' ? {} : several
    const { service, agents, port } = await startFirst('sqlite', { SALLYPORT_DATA_DIR: folder, ...workers })
    const given = { kind, world, port, agents, setVictimsClock, disk }
    return { ...given, instances: [service], victim: service, postgres: undefined }
  }

  const server = await startPostgres({ isDurable: true, disk })
  scope.after(() => server.stop())
  const url = new URL(server.url)
  const isPooled = kind === 'PostgreSQL through PgBouncer, 3 instances'
  const pooler = isPooled ? await startPgbouncer(scope, Number(url.port), 'session', sessions) : undefined
  const relay = await startSilentRelay(scope, pooler?.port ?? Number(url.port))
  url.port = String(relay.port)
  const port = await freePort()
  const { service: victim, agents } = await startFirst('postgres', {
    DATABASE_URL: url.href,
    SALLYPORT_BASE_URL: `http://localhost:${port}`,
    SALLYPORT_TRUST_PROXY: '127.0.0.1',
  })
  const instances = [victim]
  while (instances.length < 3) {
    const env = Object.fromEntries(Object.entries(victim.env).filter(([name]) => !(name in clock)))
    instances.push(await startService(scope, 'postgres', { ...env, PORT: String(await freePort()) }, place))
  }
  await startHaproxy(
    scope,
    world.folder,
    port,
    instances.map((one) => one.port),
  )
  const run = (statement: string) => runStatement(server.url, statement)
  return {
    kind,
    world,
    port,
    agents,
    setVictimsClock,
    disk,
    instances,
    victim,
    postgres: { server, relay, pooler, run },
  }
}

async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c default_transaction_read_only=off' })
  await client.connect()
  await client.query(statement)
  await client.end()
}
