/**
 * `npm run endurance`: well-behaved agents call at a steady rate, first alone, then while a stranger with 100 addresses
 * and then an approved but hostile agent attack the same service in every way we know. On loopback only.
 *
 * `--seconds 600`        how long each attack goes on
 * `--intensity 2`        doubles how often the attackers act, and how many connections they hold
 * `--attacker <name>`    `stranger` or `hostile agent`: leaves out the other one
 * `--only <attack>`      leaves out the other attacks, to find out which of them does harm
 * `--postgres`           uses PostgreSQL
 * `--profiles <folder>`  writes a CPU profile of the service there
 * `--records 1000000`    instead measures how long `/healthz` takes at most with that many records (see records.ts)
 * `--memory`             instead measures the memory that 1,000 accounts take, for `--seconds` (see memory.ts)
 * `--seeded <folder>`    keeps the filled database of `--records` there and uses it again (SQLite)
 * `--cuts`               first breaks connections off at every byte, on every kind of listener, and kills the service 20
 *                        times
 *
 * Exits with an error if a target is missed.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startSeeded } from '../bench/contenders.ts'
import { cpuSeconds, memoryOf, startProcess, stolenSeconds } from '../bench/processes.ts'
import type { Scope } from '../bench/processes.ts'
import { mebibytes, millis, table } from '../bench/report.ts'
import type { Row } from '../bench/report.ts'
import { standstillDuring } from '../bench/standstill.ts'
import { createAuthority } from '../server/testkit/certificates.ts'
import { startPostgres } from '../server/testkit/postgres-server.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import type { Tally } from './attack.ts'
import type { GoodCallsMade } from './good-agents.ts'
import { measureMemory } from './memory.ts'
import { recordFaults } from './record.ts'
import { measureRecords } from './records.ts'
import type { RecordsOrder } from './records.ts'
import { answer } from './upstream.ts'
import type { AttackerKind, Order } from './worker.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    intensity: { type: 'string', default: '1' },
    postgres: { type: 'boolean', default: false },
    records: { type: 'string' },
    memory: { type: 'boolean', default: false },
    seeded: { type: 'string' },
    cuts: { type: 'boolean', default: false },
    profiles: { type: 'string' },
    attacker: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
  },
})
const seconds = Number(values.seconds)
if (!(seconds >= 5)) throw new Error(`--seconds takes a number from 5 on, not ${values.seconds}`)
const intensity = Number(values.intensity)
if (!(intensity > 0)) throw new Error(`--intensity takes a number above 0, not ${values.intensity}`)
const quietSeconds = Math.min(60, seconds)
const warmUpSeconds = Math.min(15, seconds)
const goodAgents = 20
const perSecond = 100
const mostSlower = 3
const mostMemory = 256 * 1024 ** 2

const endings: (() => unknown)[] = []
const scope: Scope = { after: (ending) => endings.unshift(ending) }
const say = (line: string) => process.stderr.write(`${line}\n`)

interface Measured extends GoodCallsMade {
  what: string
  standstillMs: number
  memory: number
  /** `stolen`: CPU steal time, when the host ran other virtual machines. It adds latency in any phase. */
  cpu: { service: number; attacker: number; callers: number; stolen: number }
}

async function ask<T>(worker: ChildProcess, order: Order): Promise<T> {
  worker.send(order)
  const [reply] = (await once(worker, 'message')) as [{ result: T } | { error: string }]
  if ('error' in reply) throw new Error(reply.error)
  return reply.result
}

/** Samples the memory of the process, keeps the maximum, and prints progress. */
function watch(pid: number, what: string): () => number {
  let most = memoryOf(pid).now
  const began = Date.now()
  const look = setInterval(() => (most = Math.max(most, memoryOf(pid).now)), 200)
  const progress = setInterval(() => {
    say(`  ${what}: ${Math.round((Date.now() - began) / 1000)} s, ${mebibytes(memoryOf(pid).now)}`)
  }, 10_000)
  return () => {
    clearInterval(look)
    clearInterval(progress)
    return most
  }
}

async function main(): Promise<boolean> {
  if (values.postgres && process.env['TEST_DATABASE_URL'] === undefined) {
    const server = await startPostgres({ isDurable: true })
    scope.after(server.stop)
    process.env['TEST_DATABASE_URL'] = server.url
  }
  if (values.memory) return measureMemory(scope, seconds, say)
  if (values.records !== undefined) return measureRecords(scope, recordsOrder(values.records), say)
  if (values.cuts) await runLongTests()
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-endurance-'))
  scope.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  const authority = await createAuthority(folder)
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
  const upstream = await startTlsUpstream(scope, certificate, answer)
  const host = `localhost:${upstream.port}`
  // In its own process: sending 10 MiB responses and endless streams must not delay the responses for good agents.
  const attackersUpstream = await startProcess(scope, '../endurance/worker.ts')
  const attackersHost = `localhost:${await ask<number>(attackersUpstream, { kind: 'upstream', tls: certificate })}`
  const outside = { host, caFile: authority.caFile, profiles: values.profiles && resolve(values.profiles) }
  const size = { agents: goodAgents + 1, grantsPerAgent: 1, auditRecords: 20_000, otherHosts: [attackersHost] }
  const measured = await startSeeded(scope, values.postgres ? 'postgres' : 'sqlite', outside, size, say, {
    SALLYPORT_EGRESS_ALLOW: `${host},${attackersHost}`,
    SALLYPORT_UNAPPROVED_REQUESTS_PER_SECOND: '20',
  })
  const [approved, ...agents] = measured.agents
  if (!approved) throw new Error('no agents')
  const victim = { port: measured.port, upstreamHost: attackersHost, approved }
  const callers = await startProcess(scope, '../endurance/worker.ts')

  const measure = async (what: string, during: number, attacker?: AttackerKind): Promise<Measured> => {
    say(`${what}, ${during} s`)
    const attacking = attacker && (await startProcess(scope, '../endurance/worker.ts'))
    const { pid } = measured
    const ended = watch(pid, what)
    const before = { service: cpuSeconds(pid), callers: cpuSeconds(callers.pid ?? 0), stolen: stolenSeconds() }
    const { result, longestMs } = await standstillDuring(measured.service, () =>
      Promise.all([
        ask<GoodCallsMade>(callers, {
          kind: 'good calls',
          calls: {
            port: measured.port,
            upstreamHost: host,
            agents,
            perSecond,
            seconds: during,
            name: what.replaceAll(' ', '-'),
          },
        }),
        attacking &&
          ask<Record<string, Tally>>(attacking, {
            kind: 'attack',
            attacker,
            victim,
            seconds: during,
            intensity,
            only: values.only,
          }),
      ]),
    )
    const [made, tallies] = result
    const cpu = {
      service: (cpuSeconds(pid) - before.service) / during,
      callers: (cpuSeconds(callers.pid ?? 0) - before.callers) / during,
      attacker: attacking ? cpuSeconds(attacking.pid ?? 0) / during : 0,
      stolen: (stolenSeconds() - before.stolen) / during,
    }
    attacking?.disconnect()
    for (const [name, tally] of Object.entries(tallies ?? {})) {
      say(
        `  ${name}: ${Object.entries(tally)
          .map(([outcome, count]) => `${outcome} × ${count}`)
          .join(', ')}`,
      )
    }
    say(`  p99 in each twentieth of the time: ${made.p99OverTime.map(Math.round).join(' ')} ms`)
    say(`  longest call in each twentieth of the time: ${made.longestOverTime.map(Math.round).join(' ')} ms`)
    for (const failure of new Set(made.failures.slice(0, 5))) say(`  FAILED: ${failure}`)
    return { what, ...made, memory: ended(), standstillMs: longestMs, cpu }
  }

  await measure('warming up', warmUpSeconds)
  const quiet = await measure('quiet', quietSeconds)
  const attacked: Measured[] = []
  for (const attacker of ['stranger', 'hostile agent'] as const) {
    if (attacker === (values.attacker ?? attacker)) attacked.push(await measure(attacker, seconds, attacker))
  }
  say('checking the audit log')
  const requests = [...upstream.requests, ...(await ask<string[]>(attackersUpstream, { kind: 'requests' }))]
  const faults = await recordFaults(scope, measured.service, requests)
  const rows = [quiet, ...attacked].flatMap((one) => rowsFor(quiet, one))
  const lost = `${requests.length} calls reached the upstream`
  rows.push({
    what: 'record',
    theirs: '',
    ours: lost,
    result: faults.join(' ') || 'complete',
    bar: 'nothing lost',
    isMet: faults.length === 0,
  })
  process.stdout.write(
    `\n${cpus().length} cores, ${cpus()[0]?.model ?? ''}, Node ${process.versions.node}, load ${loadavg()[0]?.toFixed(1)}\n`,
  )
  process.stdout.write(`${table(rows)}\n`)
  return rows.every(({ isMet }) => isMet !== false)
}

function recordsOrder(text: string): RecordsOrder {
  const records = Number(text)
  if (!(records >= 1000)) throw new Error(`--records takes a number from 1000 on, not ${text}`)
  const { postgres: isPostgres, only, seeded, profiles } = values
  return { records, isPostgres, only, seeded: seeded && resolve(seeded), profiles: profiles && resolve(profiles) }
}

function rowsFor(quiet: Measured, one: Measured): Row[] {
  const isQuiet = one === quiet
  const ratio = one.p99 / quiet.p99
  const grown = one.memory - quiet.memory
  const { service, attacker, callers, stolen } = one.cpu
  const percent = (share: number) => `${Math.round(share * 100)} %`
  return [
    {
      what: `${one.what}: p50, p99, longest`,
      theirs: `${millis(quiet.p50)}, ${millis(quiet.p99)}`,
      ours: `${millis(one.p50)}, ${millis(one.p99)}, ${millis(one.longest)}`,
      result: `p99 × ${ratio.toFixed(2)}`,
      bar: isQuiet ? '' : `≤ × ${mostSlower}`,
      isMet: isQuiet ? undefined : ratio <= mostSlower,
    },
    {
      what: `${one.what}: memory`,
      theirs: mebibytes(quiet.memory),
      ours: mebibytes(one.memory),
      result: `+ ${mebibytes(grown)}`,
      bar: isQuiet ? '' : `≤ + ${mebibytes(mostMemory)}`,
      isMet: isQuiet ? undefined : grown <= mostMemory,
    },
    {
      what: `${one.what}: good calls`,
      theirs: '',
      ours: `${one.calls}`,
      result: `${one.failures.length} failed`,
      bar: 'none',
      isMet: one.failures.length === 0,
    },
    {
      what: `${one.what}: processor, event loop`,
      theirs: '',
      ours: `service ${percent(service)}, attacker ${percent(attacker)}, callers ${percent(callers)} of a core`,
      result: `blocked for ${millis(one.standstillMs)} at most, ${percent(stolen)} stolen by the host`,
      bar: '',
      isMet: undefined,
    },
  ]
}

async function runLongTests(): Promise<void> {
  say('Breaking connections off at every byte, on every listener, and killing the service 20 times …')
  const files = ['broken-connections', 'nothing-unrecorded'].map((name) =>
    resolve(import.meta.dirname, `../e2e/${name}.test.ts`),
  )
  const env = { ...process.env, TEST_LONG_FORM: '1' }
  const args = ['--test', '--test-reporter=spec', '--test-concurrency=1', ...files]
  const child = spawn(process.execPath, args, { stdio: 'inherit', env })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error('a listener crashed, or a call was not recorded')
}

try {
  process.exitCode = (await main()) ? 0 : 1
} finally {
  for (const ending of endings) await ending()
}
process.exit()
