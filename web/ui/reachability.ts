/**
 * Whether the service can be reached. A failed request or an event of the browser is only a reason to ask: the service is
 * away once a probe fails, and back once any request is answered. A local service is reachable while offline.
 */
import { useSyncExternalStore } from 'react'

const probeTimeoutMs = 5_000
const firstPauseMs = 1_000
const longestPauseMs = 15_000

let awaySince: number | undefined
/** 0 before the first one. */
let lastAnswerAt = 0
let probing: Promise<boolean> | undefined
let pauseMs = firstPauseMs
let nextProbe: ReturnType<typeof setTimeout> | undefined
const changed = new EventTarget()

/** For the clients of the service: every answer and every failure is noticed. */
export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init)
    // A proxy says so if it can't reach the service, and the service if it can't reach its database.
    if ([502, 503, 504].includes(response.status)) void isReachable()
    else noteAnswer()
    return response
  } catch (problem) {
    if (!isCancelled(init?.signal)) void isReachable()
    throw problem
  }
}

/** By the page. A timeout of the client is a failure. */
function isCancelled(signal: AbortSignal | null | undefined): boolean {
  return signal?.aborted === true && (signal.reason as { code?: unknown } | undefined)?.code !== 'timeout'
}

/** Asks the service now. */
export function isReachable(): Promise<boolean> {
  return (probing ??= probe().finally(() => {
    probing = undefined
  }))
}

async function probe(): Promise<boolean> {
  clearTimeout(nextProbe)
  try {
    const { status } = await fetch('/readyz', { cache: 'no-store', signal: AbortSignal.timeout(probeTimeoutMs) })
    // A proxy may not pass it on.
    if (status < 500) noteAnswer()
    else noteAway()
    return status < 500
  } catch {
    noteAway()
    return false
  }
}

function noteAnswer(): void {
  lastAnswerAt = Date.now()
  pauseMs = firstPauseMs
  clearTimeout(nextProbe)
  if (awaySince === undefined) return
  awaySince = undefined
  changed.dispatchEvent(new Event('change'))
  changed.dispatchEvent(new Event('return'))
}

function noteAway(): void {
  nextProbe = setTimeout(() => void isReachable(), pauseMs)
  pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  if (awaySince !== undefined) return
  awaySince = lastAnswerAt
  changed.dispatchEvent(new Event('change'))
}

for (const event of ['online', 'offline']) addEventListener(event, () => void isReachable())
document.addEventListener('visibilitychange', () => {
  if (awaySince !== undefined) void isReachable()
})

/** The time of the last answer, or 0 if there was none, if the service is away. */
export function useAwaySince(): number | undefined {
  return useSyncExternalStore(
    (tell) => listen('change', tell),
    () => awaySince,
  )
}

/** Calls back each time the service can be reached again. Returns a function that ends it. */
export function onReturn(act: () => void): () => void {
  return listen('return', act)
}

function listen(event: 'change' | 'return', act: () => void): () => void {
  changed.addEventListener(event, act)
  return () => {
    changed.removeEventListener(event, act)
  }
}
