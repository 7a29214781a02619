/**
 * Load shedding: while the event loop is busy, refuses requests so that those of known callers keep their response times.
 * Callers that anyone can create share one small rate; each known caller has a rate of its own. People who
 * are signed in are never refused here.
 */
import { performance } from 'node:perf_hooks'
import { setBounded } from '../cache/memoize.ts'
import { ServiceError } from '../errors.ts'

/** Above this share of time the event loop is busy: waiting times grow steeply from there on. */
const busyUtilization = 0.6
const sampleMs = 200
/** Refusing lowers the utilization, so it goes on for a while. */
const staysBusyMs = 5_000

export interface Rate {
  perSecond: number
  burst: number
}

interface LoadSheddingOptions {
  /** For all strangers together; 0 turns load shedding off. */
  strangers: Rate
  /** For each known caller; 0: no limit. */
  known: Rate
  now?: () => number
  /** The share of time that the event loop was busy since the last call. */
  utilization?: () => number
}

export type LoadShedding = ReturnType<typeof createLoadShedding>

const allStrangers = 'strangers'

export function createLoadShedding({
  strangers,
  known,
  now = () => performance.now(),
  utilization = sinceLastCall(),
}: LoadSheddingOptions) {
  let sampledAt = now()
  let busyUntil = -Infinity
  /** Callers with an approval that was used, and when. */
  const knownCallers = new Map<string, true>()
  const buckets = new Map<string, { left: number; at: number }>()

  const isBusy = (at: number): boolean => {
    if (at - sampledAt >= sampleMs) {
      sampledAt = at
      if (utilization() > busyUtilization) busyUntil = at + staysBusyMs
    }
    return at < busyUntil
  }
  const tryTake = (key: string, { perSecond, burst }: Rate, at: number): boolean => {
    const bucket = buckets.get(key) ?? { left: burst, at }
    bucket.left = Math.min(burst, bucket.left + ((at - bucket.at) * perSecond) / 1000)
    bucket.at = at
    setBounded(buckets, key, bucket)
    if (bucket.left < 1) return false
    bucket.left--
    return true
  }
  return {
    /** Throws if a request of this caller has to be refused for now. Undefined: without a valid credential. */
    assertRoom: (caller: string | undefined): void => {
      const at = now()
      if (strangers.perSecond === 0 || !isBusy(at)) return
      const isKnown = caller !== undefined && knownCallers.has(caller)
      const rate = isKnown ? known : strangers
      if (rate.perSecond === 0 || tryTake(isKnown ? caller : allStrangers, rate, at)) return
      const message = 'The service is busy. Wait for the time in Retry-After, then try again.'
      throw new ServiceError('rate_limited', { retryAfterSeconds: 1, message })
    },
    /** A call of this caller was approved by a person and answered. */
    know: (caller: string): void => {
      if (strangers.perSecond > 0 && !knownCallers.has(caller)) setBounded(knownCallers, caller, true)
    },
  }
}

function sinceLastCall(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const { utilization } = performance.eventLoopUtilization(last)
    last = performance.eventLoopUtilization()
    return utilization
  }
}
