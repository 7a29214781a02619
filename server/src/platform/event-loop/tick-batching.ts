/**
 * Batches the calls that arrive in one turn of the event loop: all of them take one step, then all take the next. The
 * same step in a row costs half, because its code is still in the processor's cache. While every turn brings only one
 * call, nothing waits.
 */
const quietTurns = 256
let quiet = 0
let here = 0
let end: Promise<void> | undefined
let resolveEnd: (() => void) | undefined

/** True while turns have brought only single calls for some time. */
export function isTickBatchingIdle(): boolean {
  return quiet >= quietTurns
}

/** Resolves at the end of this turn of the event loop. Undefined if there is no need to wait. */
export function endOfTick(): Promise<void> | undefined {
  if (here++ === 0) setImmediate(endTurn)
  if (isTickBatchingIdle()) return undefined
  end ??= new Promise((resolve) => (resolveEnd = resolve))
  return end
}

function endTurn(): void {
  quiet = here > 1 ? 0 : quiet + 1
  here = 0
  end = undefined
  resolveEnd?.()
  resolveEnd = undefined
}
