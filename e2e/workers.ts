/** Which worker of a running service answers, where several share the port. */
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { callService } from './http-call.ts'
import type { Reply } from './http-call.ts'
import { eventually } from './running-service.ts'
import type { RunningService } from './running-service.ts'

type CallOne = RunningService['call']

interface LogLine {
  instance?: string
  request_id?: string
  msg: string
}

export function logLines({ log }: RunningService): LogLine[] {
  const whole = log.split('\n').slice(0, -1)
  return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine)
}

/** An instance is named by its host and its process. */
export function pidOf({ instance = '' }: LogLine): number {
  return Number(instance.split(':').at(-1))
}

/** The log says which process gave an answer. */
export async function workerOf(service: RunningService, reply: Reply): Promise<number> {
  let worker: number | undefined
  await eventually(() => {
    const line = logLines(service).find(({ request_id }) => request_id === reply.headers['x-request-id'])
    worker = line && pidOf(line)
    return worker !== undefined
  }, 'no worker logged the call')
  return worker ?? 0
}

/** A way to each worker: a connection stays with the one that it came to. */
export async function waysToWorkers(service: RunningService, count: number): Promise<Map<number, CallOne>> {
  const ways = new Map<number, CallOne>()
  for (let attempt = 0; attempt < 20 && ways.size < count; attempt++) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const call: CallOne = (method, path, what = {}) => callService(service.env, agent, method, path, what)
    const worker = await workerOf(service, await call('GET', '/v4/auth/providers'))
    if (ways.has(worker)) agent.destroy()
    else ways.set(worker, call)
  }
  assert.equal(ways.size, count, `${ways.size} workers answered`)
  return ways
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
