/** Messages between the bench and its load generator. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { LegacyLoad } from './legacy-callers.ts'
import { cpuSeconds } from './processes.ts'
import type { TunnelOrder } from './tunnels.ts'

export interface Caller {
  token: string
  /** The JSON text of the call. */
  body: string
}

export interface Load {
  kind: 'load'
  port: number
  callers: Caller[]
  connections: number
  seconds: number
  /** Number of calls, without a time limit. */
  atLeast: number
  /** Pause between a response and the next call on the same connection. */
  pauseMs?: number
}

export type Order = Load | { kind: 'stream'; port: number; caller: Caller; bytes: number }

export interface Measured {
  calls: number
  seconds: number
  /** Milliseconds. */
  p50: number
  p99: number
}

export interface Round extends Measured {
  perSecond: number
  /** CPU time of the measured process with all its threads, in microseconds. */
  cpuPerCall: number
}

/** What is measured. */
export interface Target {
  name: string
  port: number
  pid: number
}

export async function drive(
  generator: ChildProcess,
  { pid }: Pick<Target, 'pid'>,
  order: Order | TunnelOrder | LegacyLoad,
): Promise<Round> {
  const before = cpuSeconds(pid)
  generator.send(order)
  const [reply] = (await once(generator, 'message')) as [{ measured: Measured } | { error: string }]
  if ('error' in reply) throw new Error(reply.error)
  const { measured } = reply
  if (measured.calls === 0) throw new Error('nothing was answered in time')
  const cpu = cpuSeconds(pid) - before
  return {
    ...measured,
    perSecond: measured.calls / measured.seconds,
    cpuPerCall: (cpu * 1e6) / measured.calls,
  }
}
