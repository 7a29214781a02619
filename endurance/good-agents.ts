/** Agents that call at a constant rate, even if earlier calls are still pending, and measure the latency of each. */
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { callService } from '../e2e/http-call.ts'
import type { Reply } from '../e2e/http-call.ts'
import type { AgentCredentials } from './attack.ts'
import { paths } from './upstream.ts'

export interface SteadyCalls {
  port: number
  upstreamHost: string
  agents: AgentCredentials[]
  /** Total rate of all agents. */
  perSecond: number
  /** Part of each call's path, unique to this run. */
  name: string
  /** How long the service may wait for the upstream. */
  timeoutMs?: number
}

export interface GoodCalls extends SteadyCalls {
  seconds: number
}

export interface CallMade {
  index: number
  /** Monotonic clock, in milliseconds. */
  beganAt: number
  tookMs: number
  /** What came instead of the upstream's response: `503 not_ready`, `ECONNRESET`. */
  failure: { code: string; text: string } | undefined
}

export interface GoodCallsMade {
  calls: number
  /** Calls that did not get the upstream's response. */
  failures: string[]
  /** Milliseconds. */
  p50: number
  p99: number
  longest: number
  /** The p99 of each twentieth of the run. */
  p99OverTime: number[]
  /** The longest of each twentieth of the run. */
  longestOverTime: number[]
}

const parts = 20
const patienceMs = 60_000

type Order = Omit<SteadyCalls, 'perSecond'>

function caller({ port, upstreamHost, agents, name, timeoutMs }: Order, note: (call: CallMade) => void) {
  const connections = new Agent({ keepAlive: true })
  const call = async (index: number): Promise<void> => {
    const { token, grantId } = agents[index % agents.length] as AgentCredentials
    const url = `https://${upstreamHost}${paths.small}/${name}-${index}`
    const beganAt = performance.now()
    const body = { grant_id: grantId, method: 'GET', url, ...(timeoutMs && { timeout_ms: timeoutMs }) }
    const answered = callService({ PORT: String(port) }, connections, 'POST', '/v4/proxy', { token, body })
    const failure = await Promise.race([answered.then(failureIn, errorIn), sleep(patienceMs, noAnswer, { ref: false })])
    note({ index, beganAt, tookMs: performance.now() - beganAt, failure })
  }
  const end = () => {
    connections.destroy()
  }
  return { call, end }
}

/** Clients that each wait for a response, and a moment, before the next call. */
export async function callInTurn(
  { clients, pauseMs, ...order }: Order & { clients: number; pauseMs: number },
  goesOn: () => boolean,
  note: (call: CallMade) => void,
): Promise<void> {
  const { call, end } = caller(order, note)
  let index = 0
  const client = async () => {
    while (goesOn()) {
      await call(index++)
      await sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  end()
}

/** Calls until told to stop, then waits for the last response. */
export async function callSteadily(
  { perSecond, ...order }: SteadyCalls,
  goesOn: (index: number) => boolean,
  note: (call: CallMade) => void,
): Promise<void> {
  const { call, end } = caller(order, note)
  const began = performance.now()
  const calls: Promise<void>[] = []
  for (let index = 0; goesOn(index); index++) {
    const waitMs = began + (index * 1000) / perSecond - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    calls.push(call(index))
  }
  await Promise.all(calls)
  end()
}

const noAnswer: CallMade['failure'] = { code: 'no answer', text: `no answer within ${patienceMs / 1000} s` }

function failureIn({ status, body, text }: Reply): CallMade['failure'] {
  const { status: upstreamStatus, error } = (body ?? {}) as { status?: number; error?: { code: string } }
  if (status === 200 && upstreamStatus === 200) return undefined
  const code = status === 200 ? `upstream ${upstreamStatus}` : `${status} ${error?.code ?? 'of the balancer'}`
  return { code, text: `${status} ${text.slice(0, 500)}` }
}

function errorIn(error: unknown): CallMade['failure'] {
  const { code, name } = error as { code?: string; name: string }
  return { code: code ?? name, text: String(error) }
}

export async function makeGoodCalls({ seconds, ...order }: GoodCalls): Promise<GoodCallsMade> {
  const overTime: number[][] = Array.from({ length: parts }, () => [])
  const failures: string[] = []
  const count = order.perSecond * seconds
  await callSteadily(
    order,
    (index) => index < count,
    ({ index, tookMs, failure }) => {
      overTime[Math.floor((index * parts) / count)]?.push(tookMs)
      if (failure) failures.push(failure.text)
    },
  )
  const latencies = overTime.flat()
  return {
    calls: latencies.length,
    failures,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    longest: quantile(latencies, 1),
    p99OverTime: overTime.map((some) => quantile(some, 0.99)),
    longestOverTime: overTime.map((some) => quantile(some, 1)),
  }
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0
}
