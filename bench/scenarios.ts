/** The scenarios: each sets up what it needs and returns its rows of the table. */
import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { contending, startInSandbox, startSeeded } from './contenders.ts'
import type { Callable, MeasuredService, Outside } from './contenders.ts'
import { syncMs } from './disk.ts'
import { gatewayTunnels } from './gateway.ts'
import { kindsOfCredentials } from './kinds.ts'
import { legacyCalls } from './legacy.ts'
import { drive } from './load.ts'
import { isNginxThere, startNginx } from './nginx.ts'
import { memoryOf } from './processes.ts'
import { pagesOnSlowLine } from './pages.ts'
import type { Scope } from './processes.ts'
import { mebibytes, micros, millis, perSecond, spread } from './report.ts'
import type { Row } from './report.ts'
import { compare, median, medianOf, ratios } from './rounds.ts'
import type { Comparison, Pace } from './rounds.ts'
import { standstillDuring } from './standstill.ts'

export interface Bench {
  scope: Scope
  outside: Outside
  files: { cert: string; key: string }
  pace: Pace
  isQuick: boolean
  relay: Callable
  generator: ChildProcess
  /** Starts a PostgreSQL server if there is none yet. */
  postgres: () => Promise<void>
  say: (progress: string) => void
}

const seedSize = { agents: 1000, grantsPerAgent: 1, auditRecords: 0 }
const connections = 16

/** One service on SQLite, shared by the scenarios that need no special settings. */
let shared: Promise<MeasuredService> | undefined
function onSqlite({ scope, outside, say }: Bench): Promise<MeasuredService> {
  shared ??= startSeeded(scope, 'sqlite', outside, seedSize, say)
  return shared
}

function ratioRow(what: string, theirs: Comparison, ours: Comparison, bar: number, aim: number): Row {
  const all = ratios(ours, theirs)
  const figures = (one: Comparison) =>
    `${perSecond(medianOf(one, (round) => round.perSecond))}, ${micros(medianOf(one, (round) => round.cpuPerCall))}`
  return {
    what,
    theirs: figures(theirs),
    ours: figures(ours),
    result: spread(all, median(all)),
    bar: `≥ ${bar.toFixed(2)} (${aim.toFixed(2)})`,
    isMet: median(all) >= bar,
  }
}

async function fullCall(bench: Bench): Promise<Row[]> {
  const { relay, generator, pace, say } = bench
  const contenders = [relay, await onSqlite(bench)].map((one) => contending(one, '/small'))
  const [theirs, ours] = await compare(generator, contenders, connections, pace, say)
  return theirs && ours ? [ratioRow(`full call, SQLite, ${connections} connections`, theirs, ours, 0.55, 0.65)] : []
}

async function fullCallOnPostgres({ scope, outside, relay, generator, pace, postgres, say }: Bench): Promise<Row[]> {
  await postgres()
  const service = await startSeeded(scope, 'postgres', outside, seedSize, say)
  const contenders = [relay, service].map((one) => contending(one, '/small'))
  const [theirs, ours] = await compare(generator, contenders, connections, pace, say)
  await service.service.stop()
  return theirs && ours ? [ratioRow(`full call, PostgreSQL, ${connections} connections`, theirs, ours, 0.45, 0.55)] : []
}

/** No target: it shows how far the service is from what the machine could do. */
async function againstNginx(bench: Bench): Promise<Row[]> {
  const { scope, outside, generator, pace, say } = bench
  const row = {
    what: `full call, SQLite, compared with nginx, ${connections} connections`,
    bar: '(0.25)',
    isMet: undefined,
  }
  if (!isNginxThere()) return [{ ...row, theirs: '', ours: '', result: 'not run: nginx is not installed' }]
  const contenders = [await startNginx(scope, outside), await onSqlite(bench)].map((one) => contending(one, '/small'))
  const [theirs, ours] = await compare(generator, contenders, connections, pace, say)
  return theirs && ours ? [{ ...ratioRow(row.what, theirs, ours, 0, 0.25), ...row }] : []
}

async function oneConnection(bench: Bench): Promise<Row[]> {
  const { relay, generator, pace, say } = bench
  const contenders = [relay, await onSqlite(bench)].map((one) => contending(one, '/small'))
  const [theirs, ours] = await compare(generator, contenders, 1, pace, say)
  if (!theirs || !ours) return []
  const p50 = (one: Comparison) => medianOf(one, (round) => round.p50)
  const more = p50(ours) - p50(theirs)
  return [
    {
      what: 'one connection, SQLite, p50',
      theirs: millis(p50(theirs)),
      ours: millis(p50(ours)),
      result: `+ ${millis(more)}`,
      bar: '≤ + 0.60 ms (0.40)',
      isMet: more <= 0.6,
    },
    // Part of every call: its record is synced to disk before the request is sent.
    {
      what: 'of which the disk: one page, synced',
      theirs: '',
      ours: '',
      result: millis(syncMs()),
      bar: '',
      isMet: undefined,
    },
  ]
}

async function largeAnswer(bench: Bench): Promise<Row[]> {
  const { relay, generator, pace, say } = bench
  const contenders = [relay, await onSqlite(bench)].map((one) => {
    const { callers, ...contender } = contending(one, '/large')
    // A warm-up would call as every agent, which would take long.
    return { ...contender, callers: callers.slice(0, 50) }
  })
  const [theirs, ours] = await compare(generator, contenders, 4, pace, say)
  return theirs && ours ? [ratioRow('response of 1 MiB JSON, 4 connections', theirs, ours, 1.2, 2)] : []
}

async function escapesOnly(bench: Bench): Promise<Row[]> {
  const { generator, pace, say } = bench
  const sqlite = await onSqlite(bench)
  const { port, pid, service } = sqlite
  const run = (seconds: number) =>
    drive(
      generator,
      { pid },
      { kind: 'load', port, callers: sqlite.calls('/escapes'), connections: 1, seconds, atLeast: 0 },
    )
  say('warming up: bodies of escapes')
  await run(pace.warmUpSeconds)
  const longest: number[] = []
  const rates: number[] = []
  // In rounds: the maximum over one long run would show other processes on the machine.
  for (let round = 1; round <= pace.rounds; round++) {
    const { longestMs, result } = await standstillDuring(service, () => run(pace.roundSeconds))
    longest.push(longestMs)
    rates.push(result.perSecond)
    say(`round ${round} of ${pace.rounds}: event loop blocked for ${millis(longestMs)} at most`)
  }
  return [
    {
      what: 'body of escapes only, 1 MiB: event loop blocked, ms',
      theirs: '',
      ours: perSecond(median(rates)),
      result: spread(longest, median(longest)),
      bar: '≤ 20 ms',
      isMet: median(longest) <= 20,
    },
  ]
}

async function longStream(bench: Bench): Promise<Row[]> {
  const { relay, generator, say } = bench
  const sqlite = await onSqlite(bench)
  const bytes = 1024 ** 3
  const run = async (one: Callable, size: number) => {
    const [caller] = one.calls(`/stream/${size}`, { stream: true, timeout_ms: 300_000 })
    if (!caller) throw new Error('there is no agent to call as')
    const { seconds } = await drive(generator, one, { kind: 'stream', port: one.port, caller, bytes: size })
    return size / seconds
  }
  // Warm-up: both grow to the heap size that V8 keeps for garbage.
  for (const one of [relay, sqlite]) await run(one, bytes / 4)
  const before = memoryOf(sqlite.pid)
  const theirs = await run(relay, bytes)
  const ours = await run(sqlite, bytes)
  say(`relay ${mebibytes(theirs)}/s, ours ${mebibytes(ours)}/s`)
  const grown = Math.max(0, memoryOf(sqlite.pid).peak - Math.max(before.now, before.peak))
  const ratio = ours / theirs
  return [
    {
      what: `streaming ${mebibytes(bytes)}`,
      theirs: `${mebibytes(theirs)}/s`,
      ours: `${mebibytes(ours)}/s`,
      result: ratio.toFixed(2),
      bar: '≥ 0.50 (0.80)',
      isMet: ratio >= 0.5,
    },
    {
      what: 'the same, memory',
      theirs: mebibytes(before.now),
      ours: mebibytes(memoryOf(sqlite.pid).now),
      result: `peak + ${mebibytes(grown)}`,
      bar: '< 32 MiB',
      isMet: grown < 32 * 1024 ** 2,
    },
  ]
}

/** Compared with a database of few rows. Then it is restarted, to measure the start with many rows. */
async function manyRows(bench: Bench): Promise<Row[]> {
  const { scope, outside, generator, pace, isQuick, say } = bench
  const few = { ...(await onSqlite(bench)), name: 'few rows' }
  const size = isQuick
    ? { agents: 2000, grantsPerAgent: 10, auditRecords: 100_000 }
    : { agents: 10_000, grantsPerAgent: 10, auditRecords: 1_000_000 }
  const many = { ...(await startSeeded(scope, 'sqlite', outside, size, say)), name: 'many rows' }
  const contenders = [few, many].map((one) => contending(one, '/small'))
  const [theirs, ours] = await compare(generator, contenders, connections, pace, say)
  if (!theirs || !ours) return []
  const { agents, grantsPerAgent, auditRecords } = size
  return [
    ratioRow(`${agents * grantsPerAgent} grants, ${auditRecords} records, compared with few`, theirs, ours, 0.85, 0.95),
    await startRow('start to ready, on that database', many),
  ]
}

async function startRow(what: string, { service }: MeasuredService): Promise<Row> {
  const starts: number[] = []
  await service.stop()
  for (let start = 0; start < 3; start++) {
    await service.startAgain()
    starts.push(service.startMs)
    await service.stop()
  }
  return {
    what,
    theirs: '',
    ours: starts.map((ms) => `${Math.round(ms)}`).join(', '),
    result: `${Math.round(median(starts))} ms`,
    bar: '< 1000 ms',
    isMet: median(starts) < 1000,
  }
}

async function startToReady({ scope, outside, say }: Bench): Promise<Row[]> {
  const service = await startSeeded(scope, 'sqlite', outside, seedSize, say)
  return [await startRow(`start to ready, ${seedSize.agents} agents`, service)]
}

const coresForWorkers = 4

/** The load generator and the upstream need their own cores: with fewer, a second worker has no core to use. */
async function twoWorkers({ scope, outside, generator, pace, say }: Bench): Promise<Row[]> {
  const row = { what: `two workers compared with one, SQLite, ${connections} connections`, bar: '≥ 1.70' }
  const cores = availableParallelism()
  if (cores < coresForWorkers) {
    const result = `not run: ${cores} cores, and it needs ${coresForWorkers}`
    return [{ ...row, theirs: '', ours: '', result, isMet: undefined }]
  }
  const [one, two] = [
    await startSeeded(scope, 'sqlite', outside, seedSize, say),
    await startSeeded(scope, 'sqlite', outside, seedSize, say, { SALLYPORT_WORKERS: '2' }),
  ].map((service, index) => ({ ...service, name: `${index + 1} of them` }))
  if (!one || !two) return []
  const contenders = [one, two].map((service) => contending(service, '/small'))
  const [theirs, ours] = await compare(generator, contenders, connections, pace, say)
  for (const { service } of [one, two]) await service.stop()
  if (!theirs || !ours) return []
  const all = ratios(ours, theirs)
  // Without CPU time: with two workers the primary process has next to none.
  const figures = (measured: Comparison) => perSecond(medianOf(measured, (round) => round.perSecond))
  return [
    {
      ...row,
      theirs: figures(theirs),
      ours: figures(ours),
      result: spread(all, median(all)),
      isMet: median(all) >= 1.7,
    },
  ]
}

/** No target: it shows the service's own part of the cost of a call. */
async function inSandbox({ scope, outside, relay, generator, pace, say }: Bench): Promise<Row[]> {
  const contenders = [relay, await startInSandbox(scope, outside)].map((one) => contending(one, '/small'))
  const [theirs, ours] = await compare(generator, contenders, connections, pace, say)
  const row = theirs && ours && ratioRow('sandbox compared with a relayed call', theirs, ours, 0, 0)
  return row ? [{ ...row, bar: '', isMet: undefined }] : []
}

export const scenarios: Record<string, (bench: Bench) => Promise<Row[]>> = {
  full: fullCall,
  one: oneConnection,
  nginx: againstNginx,
  large: largeAnswer,
  escapes: escapesOnly,
  stream: longStream,
  many: manyRows,
  start: startToReady,
  sandbox: inSandbox,
  workers: twoWorkers,
  kinds: kindsOfCredentials,
  gateway: gatewayTunnels,
  pages: pagesOnSlowLine,
  legacy: async (bench) => legacyCalls(bench, await onSqlite(bench)),
  // Last, because it still flushes to disk for minutes afterwards, which would slow down the others.
  postgres: fullCallOnPostgres,
}
