/** Agents that call at a steady rate, whether or not earlier calls have been answered, and measure how long each takes. */
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { callService } from '../e2e/http-call.ts'
import type { AgentCredentials } from './attack.ts'
import { paths } from './upstream.ts'

export interface GoodCalls {
  port: number
  upstreamHost: string
  agents: AgentCredentials[]
  /** Of all agents together. */
  perSecond: number
  seconds: number
  /** Part of each call's path: no other run has it. */
  name: string
}

export interface GoodCallsMade {
  calls: number
  /** What was answered with anything but the upstream's answer. */
  failures: string[]
  /** Milliseconds. */
  p50: number
  p99: number
  longest: number
  /** The longest in each twentieth of the time. */
  longestOverTime: number[]
}

const parts = 20

export async function makeGoodCalls(order: GoodCalls): Promise<GoodCallsMade> {
  const { port, upstreamHost, agents, perSecond, seconds, name } = order
  const connections = new Agent({ keepAlive: true })
  const latencies: number[] = []
  const longestOverTime: number[] = Array.from({ length: parts }, () => 0)
  const failures: string[] = []
  const call = async (index: number) => {
    const { token, grantId } = agents[index % agents.length] as AgentCredentials
    const url = `https://${upstreamHost}${paths.small}/${name}-${index}`
    const began = performance.now()
    const body = { grant_id: grantId, method: 'GET', url }
    const reply = await callService({ PORT: String(port) }, connections, 'POST', '/v4/proxy', { token, body })
    const took = performance.now() - began
    latencies.push(took)
    const part = Math.floor((index * parts) / (perSecond * seconds))
    longestOverTime[part] = Math.max(longestOverTime[part] ?? 0, took)
    if (reply.status !== 200 || (reply.body as { status: number }).status !== 200)
      throw new Error(`${reply.status} ${reply.text.slice(0, 500)}`)
  }
  const began = performance.now()
  const calls: Promise<unknown>[] = []
  for (let index = 0; index < perSecond * seconds; index++) {
    const waitMs = began + (index * 1000) / perSecond - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    calls.push(call(index).catch((error: unknown) => failures.push(String(error))))
  }
  await Promise.all(calls)
  connections.destroy()
  latencies.sort((one, other) => one - other)
  const quantile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return {
    calls: calls.length,
    failures,
    p50: quantile(0.5),
    p99: quantile(0.99),
    longest: latencies.at(-1) ?? 0,
    longestOverTime,
  }
}
