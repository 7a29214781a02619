/** Every fault: what breaks, and how it is mended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../e2e/running-service.ts'
import type { RunningService } from '../../e2e/running-service.ts'
import { killOne, pauseOne, resumeOne } from './processes.ts'
import { kinds } from './set-ups.ts'
import type { Kind, Postgres, SetUp } from './set-ups.ts'

export interface Fault {
  name: string
  on: readonly Kind[]
  /** How long it lasts, once it has begun. */
  seconds: number
  /** May say more about what callers saw. */
  begin: (setUp: SetUp) => Promise<string | undefined> | undefined
  /** Takes the cause away. */
  end?: (setUp: SetUp) => unknown
  /** It is one of a certain host, which further callers call meanwhile. */
  host?: boolean
  /** Where no call may fail. */
  servesAll?: readonly Kind[]
}

const everywhere = kinds
const [sqlite, workers, instances] = kinds
/** HAProxy finds out within two checks, a second apart. */
const balancerMs = 3_000

export const faults: readonly Fault[] = [
  {
    name: 'A process is killed (SIGKILL)',
    on: everywhere,
    seconds: 3,
    begin: killOne,
    end: ({ kind, victim }) => (kind === workers ? undefined : victim.startAgain()),
  },
  {
    name: 'Restart (SIGTERM)',
    on: [sqlite, workers],
    seconds: 0,
    begin: ({ victim }) => done(victim.stop()),
    end: ({ victim }) => victim.startAgain(),
  },
  {
    name: 'Rolling restart (SIGTERM)',
    on: [instances],
    seconds: 0,
    begin: (setUp) => done(rollingRestart(setUp)),
    servesAll: [instances],
  },
  { name: 'A process stands still for 10 s (SIGSTOP)', on: everywhere, seconds: 10, begin: pauseOne, end: resumeOne },
]

async function done(work: Promise<unknown>): Promise<undefined> {
  await work
}

async function rollingRestart({ instances: all }: SetUp): Promise<void> {
  for (const one of all) {
    await one.stop()
    await one.startAgain()
    await untilReady(one)
    await sleep(balancerMs)
  }
}

async function untilReady(service: RunningService): Promise<void> {
  await eventually(async () => (await service.call('GET', '/readyz')).status === 200, 'it does not become ready')
}

export function postgresOf({ postgres }: SetUp): Postgres {
  if (!postgres) throw new Error('this fault is one of PostgreSQL')
  return postgres
}
