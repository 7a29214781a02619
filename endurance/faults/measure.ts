/** One fault in one set-up: the effect on callers, the time to recover, and the state of the audit log. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Scope } from '../../bench/processes.ts'
import { callInTurn, callSteadily } from '../good-agents.ts'
import type { CallMade } from '../good-agents.ts'
import { recordedCalls, verifyRecord } from '../record.ts'
import type { Fault } from './faults.ts'
import type { SetUp } from './set-ups.ts'

export interface Result {
  fault: Fault
  setUp: SetUp
  callers: Seen
  /** Callers of the faulty host, if the fault affects one host. */
  callersOfHost: Seen | undefined
  /** Seconds from the end of the fault to the first call after which all succeed. */
  recoverySeconds: number
  /** Calls that reached an API but are not recorded. */
  lost: number
  /** Calls that reached an API or are recorded more than once. */
  doubled: number
  /** The output of `audit verify`; empty if the log is intact. */
  complaint: string
  note: string
  /** What the fault's own check found; empty if nothing. */
  shortfall: string
  isMet: boolean
}

export interface Seen {
  calls: number
  failed: number
  /** Counts by error code. */
  failures: Record<string, number>
  longestMs: number
}

const perSecond = 25
const perSecondToHost = 5
const hostTimeoutMs = 3_000
/** Of each client, between its calls. */
const pauseMs = 500
const calmMs = 3_000
/** A call that took longer counts as delayed, whatever its result. */
const heldUpMs = 2_000
/** Recovered means no failure for this long. */
const wellMs = 5_000
const longestWatchMs = 45_000
export const mostRecoverySeconds = 5

export async function measure(scope: Scope, fault: Fault, setUp: SetUp): Promise<Result> {
  const { world, port, agents } = setUp
  const name = `${fault.name}-${setUp.kind}`.replaceAll(/[^\w]+/g, '-')
  let isOver = false
  const start = (kind: string, upstreamHost: string, rate: number, timeoutMs?: number) => {
    const made: CallMade[] = []
    const order = {
      port,
      agents,
      upstreamHost,
      perSecond: rate,
      name: `${name}-${kind}`,
      ...(timeoutMs && { timeoutMs }),
    }
    const ended = callSteadily(
      order,
      () => !isOver,
      (call) => made.push(call),
    )
    return { made, ended }
  }
  const startClients = (clients: number) => {
    const made: CallMade[] = []
    const order = { port, agents, upstreamHost: world.host, name: `${name}-clients`, clients, pauseMs }
    const ended = callInTurn(
      order,
      () => !isOver,
      (call) => made.push(call),
    )
    return { made, ended }
  }
  await fault.prepare?.(setUp)
  const all = [fault.clients === undefined ? start('calls', world.host, perSecond) : startClients(fault.clients)]
  await sleep(calmMs)
  if (fault.host) all.push(start('host', world.failing.host, perSecondToHost, hostTimeoutMs))
  const note: unknown = await fault.begin(setUp)
  await sleep(fault.seconds * 1000)
  const goneAt = performance.now()
  const noteAtEnd: unknown = await fault.end?.(setUp)
  const lastBad = () => Math.max(...all.flatMap(({ made }) => made.filter(isBad).map(({ beganAt }) => beganAt)), goneAt)
  while (performance.now() - lastBad() < wellMs && performance.now() - goneAt < longestWatchMs) await sleep(200)
  isOver = true
  await Promise.all(all.map(({ ended }) => ended))

  const [callers, callersOfHost] = all.map(({ made }) => seenBy(made)) as [Seen, Seen | undefined]
  const recoverySeconds = (lastBad() - goneAt) / 1000
  const ours = (call: string) => call.includes(name)
  const seen = world.seen.filter(ours)
  const recorded = (await recordedCalls(setUp.victim)).filter(ours)
  const onRecord = new Set(recorded)
  const lost = seen.filter((call) => !onRecord.has(call)).length
  const doubled = seen.length - new Set(seen).size + recorded.length - onRecord.size
  const complaint = await verifyRecord(scope, setUp.victim)
  const isUnequal = fault.clients !== undefined && seen.length !== recorded.length
  const amounts = `${seen.length} calls reached the API, ${recorded.length} are on record`
  const shortfall = isUnequal ? amounts : ((await fault.check?.(setUp)) ?? '')
  const isMet =
    recoverySeconds < mostRecoverySeconds &&
    lost + doubled === 0 &&
    complaint === '' &&
    shortfall === '' &&
    (callers.failed === 0 || !fault.servesAll?.includes(setUp.kind))
  const found = { callers, callersOfHost, recoverySeconds, lost, doubled, complaint, shortfall, isMet }
  const notes = [note, noteAtEnd, ...(fault.clients === undefined ? [] : [amounts])].filter(
    (one) => typeof one === 'string',
  )
  return { fault, setUp, ...found, note: notes.join('; ') }
}

function isBad({ failure, tookMs }: CallMade): boolean {
  return failure !== undefined || tookMs > heldUpMs
}

function seenBy(made: CallMade[]): Seen {
  const failures: Record<string, number> = {}
  for (const { failure } of made) if (failure) failures[failure.code] = (failures[failure.code] ?? 0) + 1
  const failed = made.filter(({ failure }) => failure).length
  return { calls: made.length, failed, failures, longestMs: Math.max(...made.map(({ tookMs }) => tookMs)) }
}
