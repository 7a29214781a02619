/**
 * Notices workers whose event loop stands still. Each says once a second that it runs; the primary process counts how long
 * it has not heard of one. Only time in which the primary itself was running counts: after the machine slept, or while
 * nothing gets any time to run, nobody is taken for stuck.
 */

export const heartbeatMs = 1_000
/** How far a tick of the primary process may be late and still count in full. */
const mostPerTickMs = 2 * heartbeatMs
/** A start loads much and says nothing meanwhile. On a busy machine it takes many times as long as usual. */
const startPart = 10
/** The part of the limit after which a worker counts as silent. */
const silentPart = 1 / 3

interface Crew<Worker> {
  /** After this long without a sign a worker is stuck. One that starts has ten times as long for its first sign. */
  stuckMs: number
  onStuck: (worker: Worker, silentMs: number) => void
  /** The number of silent workers has changed. */
  onChange: (silent: number) => void
}

export function watchHeartbeats<Worker>({ stuckMs, onStuck, onChange }: Crew<Worker>) {
  const silentMsOf = new Map<Worker, number>()
  let silent = 0
  const isSilent = (worker: Worker) => (silentMsOf.get(worker) ?? 0) >= stuckMs * silentPart
  const count = () => {
    const now = [...silentMsOf.keys()].filter(isSilent).length
    if (now === silent) return
    silent = now
    onChange(silent)
  }
  return {
    started: (worker: Worker): void => {
      silentMsOf.set(worker, -(startPart - 1) * stuckMs)
    },
    /** It said that it runs. */
    heard: (worker: Worker): void => {
      silentMsOf.set(worker, 0)
      count()
    },
    left: (worker: Worker): void => {
      silentMsOf.delete(worker)
      count()
    },
    isSilent,
    /** Call it every `heartbeatMs`. `elapsedMs`: since the last time, by a clock that is never set. */
    tick: (elapsedMs: number): void => {
      for (const [worker, before] of silentMsOf) {
        const silentMs = before + Math.min(elapsedMs, mostPerTickMs)
        silentMsOf.set(worker, silentMs)
        if (before < stuckMs && silentMs >= stuckMs) onStuck(worker, silentMs)
      }
      count()
    },
  }
}
