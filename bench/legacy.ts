/** The legacy protocol: the cost of a save and a read, the share of RSA in it, and how much it delays v4 calls. */
import type { ChildProcess } from 'node:child_process'
import { constants, generateKeyPairSync, privateDecrypt, publicEncrypt, randomBytes } from 'node:crypto'
import type { MeasuredService } from './contenders.ts'
import type { LegacyLoad } from './legacy-callers.ts'
import { drive } from './load.ts'
import type { Round } from './load.ts'
import { startProcess } from './processes.ts'
import { micros, millis, perSecond, spread } from './report.ts'
import type { Row } from './report.ts'
import { median } from './rounds.ts'
import type { Bench } from './scenarios.ts'
import { standstillDuring } from './standstill.ts'

/** About a third of what two cores can do: this measures a blocked event loop, not a saturated machine. */
const besidePerSecond = 10

export async function legacyCalls(bench: Bench, sqlite: MeasuredService): Promise<Row[]> {
  const callers = await startProcess(bench.scope, 'legacy-callers.ts')
  const published = await sqlite.service.call('GET', '/v1/authai/public-key')
  const { fingerprint } = published.body as { fingerprint: string }
  const base = { port: sqlite.port, fingerprint }
  const rows: Row[] = []
  for (const kind of ['save', 'read'] as const) {
    bench.say(`warming up: v1 ${kind}`)
    await drive(callers, sqlite, { ...base, kind, seconds: bench.pace.warmUpSeconds / 3 })
    const rounds: Round[] = []
    for (let round = 1; round <= bench.pace.rounds; round++) {
      const measured = await drive(callers, sqlite, { ...base, kind, seconds: bench.pace.roundSeconds })
      bench.say(`round ${round} of ${bench.pace.rounds}: v1 ${kind} ${Math.round(measured.perSecond)} a second`)
      rounds.push(measured)
    }
    rows.push(costRow(kind, rounds))
  }
  const beside = { ...base, kind: 'save' as const, perSecond: besidePerSecond }
  return [...rows, ...(await besideAgents(bench, sqlite, callers, beside))]
}

function costRow(kind: 'save' | 'read', rounds: Round[]): Row {
  const cpuPerCall = median(rounds.map((round) => round.cpuPerCall))
  const share = rsaMicros(kind) / cpuPerCall
  return {
    what: `v1 ${kind} of 1 KiB, 8 clients`,
    theirs: '',
    ours: `${perSecond(median(rounds.map((round) => round.perSecond)))}, ${micros(cpuPerCall)}`,
    result: `RSA takes ${(share * 100).toFixed(0)} %`,
    bar: '≥ 50 %',
    isMet: share >= 0.5,
  }
}

/**
 * Two envelopes are decrypted with the service's key; a challenge, and for a read the result, is encrypted to the
 * client's.
 */
function rsaMicros(kind: 'save' | 'read'): number {
  const service = generateKeyPairSync('rsa', { modulusLength: 3072 })
  const client = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const contentKey = randomBytes(32)
  const sealed = publicEncrypt({ key: service.publicKey, ...oaep }, contentKey)
  const opening = cpuMicrosOf(() => privateDecrypt({ key: service.privateKey, ...oaep }, sealed))
  const sealing = cpuMicrosOf(() => publicEncrypt({ key: client.publicKey, ...oaep }, contentKey))
  return 2 * opening + (kind === 'read' ? 2 : 1) * sealing
}

function cpuMicrosOf(work: () => void): number {
  const times = 200
  for (let warm = 0; warm < times / 4; warm++) work()
  const before = process.cpuUsage()
  for (let time = 0; time < times; time++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

/** The same calls by an agent, alternately alone and beside clients of the legacy protocol at a steady rate. */
async function besideAgents(
  { generator, pace, say }: Bench,
  { port, pid, calls, service }: MeasuredService,
  callers: ChildProcess,
  load: Omit<LegacyLoad, 'seconds'>,
): Promise<Row[]> {
  const agents = calls('/small')
  const run = (seconds: number, atLeast = 0) =>
    drive(generator, { pid }, { kind: 'load', port, callers: agents, connections: 1, seconds, atLeast })
  const measure = async (seconds: number) => {
    const { longestMs, result } = await standstillDuring(service, () => run(seconds))
    return { ...result, longestMs }
  }
  say('warming up: v4 calls')
  await run(pace.warmUpSeconds, agents.length * 2)
  const rounds: Side[] = []
  for (let round = 1; round <= pace.rounds; round++) {
    const alone = await measure(pace.roundSeconds)
    const legacy = drive(callers, { pid }, { ...load, seconds: pace.roundSeconds })
    const [beside] = await Promise.all([measure(pace.roundSeconds), legacy])
    rounds.push({ alone, beside })
    say(`round ${round} of ${pace.rounds}: p50 ${millis(alone.p50)} alone, ${millis(beside.p50)} beside v1`)
  }
  const what = `v4 call beside ${besidePerSecond} v1 saves a second`
  return [
    besideRow(`${what}, p50`, rounds, (one) => one.p50, 1.5),
    besideRow(`${what}, p99`, rounds, (one) => one.p99),
    // An envelope decrypted on the event loop would block all calls for that time.
    besideRow('the same, longest standstill', rounds, (one) => one.longestMs),
  ]
}

interface Seen extends Round {
  longestMs: number
}

interface Side {
  alone: Seen
  beside: Seen
}

/** Compared within each round, as the machine's load differs between rounds. */
function besideRow(what: string, rounds: Side[], pick: (one: Seen) => number, bar?: number): Row {
  const all = rounds.map(({ alone, beside }) => pick(beside) / pick(alone))
  return {
    what,
    theirs: millis(median(rounds.map(({ alone }) => pick(alone)))),
    ours: millis(median(rounds.map(({ beside }) => pick(beside)))),
    result: `× ${spread(all, median(all))}`,
    bar: bar === undefined ? '' : `≤ × ${bar.toFixed(2)}`,
    isMet: bar === undefined ? undefined : median(all) <= bar,
  }
}
