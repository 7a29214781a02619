/** All faults: what breaks, and how it is repaired. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, runServer, thisBuild } from '../../e2e/running-service.ts'
import type { Environment, Place } from '../../e2e/running-service.ts'
import { fillDisk } from '../../e2e/small-disk.ts'
import { freePort } from '../../server/testkit/ports.ts'
import { buildLastRelease } from './last-release.ts'
import { closeConnections, exportRecord, openConnections, registerAtOnce } from './many-clients.ts'
import { exhaustPool, freePool, lockFile, unlockFile } from './locks.ts'
import { startPgbouncer } from './pgbouncer.ts'
import { killOne, notReplaced, openDebugger, pauseOne, resumeOne, signalAll, stickOne } from './processes.ts'
import { kinds } from './set-ups.ts'
import type { Kind, Postgres, SetUp } from './set-ups.ts'
import { missingOutcomes, stopDuringCalls } from './stops.ts'

export interface Fault {
  name: string
  on: readonly Kind[]
  /** Duration of the fault. */
  seconds: number
  /** Before anyone calls. */
  prepare?: (setUp: SetUp) => unknown
  /** May return a note on what callers saw. */
  begin: (setUp: SetUp) => unknown
  /** Removes the cause. May return a note too. */
  end?: (setUp: SetUp) => unknown
  /** Says what should have happened and did not; empty if all is well. */
  check?: (setUp: SetUp) => Promise<string> | string
  /** The fault affects one API host, which additional callers call meanwhile. */
  host?: boolean
  /** So many clients, each of which calls as soon as it was answered, in place of the steady calls. */
  clients?: number
  /** Set if no call may fail. */
  servesAll?: readonly Kind[]
}

const [sqlite, workers, instances, pooled] = kinds
const everywhere = [sqlite, workers, instances]

export const faults: readonly Fault[] = [
  // Also warms up the service.
  { name: 'None', on: kinds, seconds: 10, begin: () => undefined, servesAll: kinds },
  {
    name: 'A process is killed (SIGKILL)',
    on: everywhere,
    seconds: 3,
    begin: killOne,
    end: ({ kind, victim }) => (kind === workers ? undefined : victim.startAgain()),
  },
  {
    name: 'The first process of several is killed (SIGKILL)',
    on: [workers],
    seconds: 1,
    begin: ({ victim }) => victim.kill(),
    end: ({ victim }) => victim.startAgain(),
  },
  {
    name: 'Restart (SIGTERM)',
    on: [sqlite, workers],
    seconds: 0,
    begin: ({ victim }) => victim.stop(),
    end: ({ victim }) => victim.startAgain(),
  },
  {
    name: 'Rolling restart (SIGTERM)',
    on: [instances, pooled],
    seconds: 0,
    begin: (setUp) => rollingRestart(setUp),
    servesAll: [instances, pooled],
  },
  {
    name: 'Rolling change to the release before and back, with 32 clients',
    on: [instances],
    seconds: 0,
    clients: 32,
    prepare: async (setUp) => (setUp.lastRelease = await buildLastRelease(setUp.world.folder)),
    begin: rollingUpgrade,
    servesAll: [instances],
  },
  {
    name: 'Stop (SIGTERM) during calls to an API that does not answer',
    on: everywhere,
    seconds: 0,
    begin: stopDuringCalls,
    end: async ({ world, victim }) => {
      await world.failing.set('answers')
      await victim.startAgain()
    },
    check: missingOutcomes,
    servesAll: [instances],
  },
  { name: 'A process is paused for 10 s (SIGSTOP)', on: everywhere, seconds: 10, begin: pauseOne, end: resumeOne },
  {
    name: 'A worker stands still (SIGSTOP) until it is replaced',
    on: [workers],
    seconds: 20,
    begin: stickOne,
    check: notReplaced,
  },
  {
    name: 'SIGHUP, ten times',
    on: everywhere,
    seconds: 2,
    begin: (setUp) => signalAll(setUp, ['SIGHUP']),
    servesAll: everywhere,
  },
  {
    name: 'SIGUSR1 and SIGUSR2, ten times',
    on: everywhere,
    seconds: 2,
    begin: (setUp) => signalAll(setUp, ['SIGUSR1', 'SIGUSR2']),
    check: openDebugger,
    servesAll: everywhere,
  },
  {
    name: 'Another program holds the write lock of SQLite',
    on: [sqlite, workers],
    seconds: 8,
    begin: lockFile,
    end: unlockFile,
  },
  {
    name: 'Calls that wait for a locked table take all database connections',
    on: [instances],
    seconds: 15,
    begin: exhaustPool,
    end: freePool,
  },
  {
    name: 'PgBouncer is killed and started again',
    on: [pooled],
    seconds: 3,
    begin: (setUp) => postgresOf(setUp).pooler?.kill(),
    end: (setUp) => postgresOf(setUp).pooler?.startAgain(),
  },
  {
    name: 'An instance is started behind PgBouncer in transaction mode',
    on: [instances],
    seconds: 0,
    begin: startBehindTransactionPooler,
    servesAll: [instances],
  },
  {
    name: 'PostgreSQL crashes and is started again',
    on: [instances, pooled],
    seconds: 5,
    begin: (setUp) => postgresOf(setUp).server.halt('SIGQUIT'),
    end: (setUp) => postgresOf(setUp).server.resume(),
  },
  {
    name: 'Open database connections go silent, new ones work',
    on: [instances],
    seconds: 10,
    begin: (setUp) => {
      postgresOf(setUp).relay.silence()
    },
  },
  {
    name: 'The database is unreachable for 15 s',
    on: [instances],
    seconds: 15,
    begin: (setUp) => {
      postgresOf(setUp).relay.silenceFromNowOn()
    },
    end: (setUp) => {
      postgresOf(setUp).relay.resume()
    },
  },
  {
    name: 'Database sessions are read-only, as after a failover',
    on: [instances],
    seconds: 10,
    begin: (setUp) =>
      postgresOf(setUp).run(`alter database postgres set default_transaction_read_only = on;
        select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = 'postgres'`),
    end: (setUp) => postgresOf(setUp).run('alter database postgres reset default_transaction_read_only'),
  },
  {
    name: 'The schema is that of a newer version',
    on: [instances],
    seconds: 6,
    begin: async (setUp) => {
      await postgresOf(setUp).run(`insert into migrations values (9999, 'newer', 0)`)
      return startOneMore(setUp)
    },
    end: (setUp) => postgresOf(setUp).run('delete from migrations where number = 9999'),
  },
  clockFault('The clock of one instance is 15 s ahead', '+15'),
  clockFault('The clock of one instance is an hour behind', '-3600'),
  {
    name: 'Another program fills the disk',
    on: everywhere,
    seconds: 8,
    begin: ({ disk }) => {
      fillDisk(join(disk, 'other-program'))
    },
    end: async ({ disk, postgres }) => {
      rmSync(join(disk, 'other-program'))
      // PostgreSQL exits if it has no space for its log.
      await postgres?.server.resume()
    },
  },
  hostFault('An API does not answer', 'hangs'),
  hostFault('An API resets connections', 'resets'),
  hostFault('An API refuses connections', 'refuses'),
  {
    name: 'The name server is silent about one host',
    on: everywhere,
    seconds: 10,
    begin: async ({ world: { names, failing } }) => {
      await failing.set('answers')
      names.names[failing.name] = 'silent'
    },
    end: ({ world: { names, failing } }) => (names.names[failing.name] = ['127.0.0.1']),
    host: true,
    servesAll: everywhere,
  },
  { name: '1,500 agents register at once', on: everywhere, seconds: 1, begin: registerAtOnce, servesAll: everywhere },
  {
    name: '2,000 connections without a request',
    on: everywhere,
    seconds: 5,
    begin: openConnections,
    end: closeConnections,
    servesAll: everywhere,
  },
  { name: 'The whole record is exported', on: everywhere, seconds: 0, begin: exportRecord, servesAll: everywhere },
]

function clockFault(name: string, offset: string): Fault {
  return {
    name,
    on: everywhere,
    seconds: 10,
    begin: ({ setVictimsClock }) => {
      setVictimsClock(offset)
    },
    end: ({ setVictimsClock }) => {
      setVictimsClock('+0')
    },
    servesAll: everywhere,
  }
}

function hostFault(name: string, behaviour: 'hangs' | 'resets' | 'refuses'): Fault {
  return {
    name,
    on: everywhere,
    seconds: 8,
    begin: ({ world }) => world.failing.set(behaviour),
    end: ({ world }) => world.failing.set('answers'),
    host: true,
    servesAll: everywhere,
  }
}

/** To the release before, one instance after the other, and to this version again. */
async function rollingUpgrade(setUp: SetUp): Promise<string> {
  const { lastRelease } = setUp
  if (!lastRelease) throw new Error('the release before is not built')
  await rollingRestart(setUp, { executable: lastRelease.executable })
  await rollingRestart(setUp, { executable: thisBuild })
  return `to ${lastRelease.commit} and back`
}

async function rollingRestart({ instances: all }: SetUp, place: Place = {}): Promise<void> {
  for (const one of all) {
    await one.stop()
    await one.startAgain({}, place)
    await eventually(async () => (await one.call('GET', '/readyz')).status === 200, 'it does not become ready')
    // HAProxy notices within two checks, a second apart.
    await sleep(3_000)
  }
}

/** Returns how the start of another instance of this version ends. */
async function startOneMore({ victim: { env } }: SetUp, changes: Environment = {}): Promise<string> {
  const endings: (() => unknown)[] = []
  const scope = { after: (ending: unknown) => endings.push(ending as () => unknown) }
  const own = { ...env, LD_PRELOAD: '', PORT: String(await freePort()), ...changes }
  const { code } = await runServer(scope, [], own)
  for (const ending of endings) await ending()
  return `an instance that is started ends with exit code ${code}`
}

async function startBehindTransactionPooler(setUp: SetUp): Promise<string> {
  const endings: (() => unknown)[] = []
  const url = new URL(postgresOf(setUp).server.url)
  const scope = { after: (ending: unknown) => endings.push(ending as () => unknown) }
  // As many sessions as there would be with one instance: it is not the number that is wrong.
  const { port } = await startPgbouncer(scope, Number(url.port), 'transaction', 11)
  url.port = String(port)
  try {
    return await startOneMore(setUp, { DATABASE_URL: url.href })
  } finally {
    for (const ending of endings) await ending()
  }
}

function postgresOf({ postgres }: SetUp): Postgres {
  if (!postgres) throw new Error('this fault is one of PostgreSQL')
  return postgres
}
