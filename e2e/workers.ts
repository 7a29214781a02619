/** Finds out which worker of a running service responds. */
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
  grant_id?: string
  level?: string
  /** In the lines of the primary process: the process id of a worker. */
  worker?: number
  msg: string
}

export function logLines({ log }: RunningService): LogLine[] {
  const whole = log.split('\n').slice(0, -1)
  return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine)
}

/** An instance is identified by its host and process id. */
export function pidOf({ instance = '' }: LogLine): number {
  return Number(instance.split(':').at(-1))
}

/** The log shows which process sent a response. */
export async function workerOf(service: RunningService, reply: Reply): Promise<number> {
  let worker: number | undefined
  await eventually(() => {
    const line = logLines(service).find(({ request_id }) => request_id === reply.headers['x-request-id'])
    worker = line && pidOf(line)
    return worker !== undefined
  }, 'no worker logged the call')
  return worker ?? 0
}

/** A connection to each worker: a connection stays with the worker that accepted it. */
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
