/**
 * What one turn of the event loop brings goes on together at its end: all of it takes one step, then all of it the next.
 * A step that was just taken is taken again for half the price, because its code is still in the processor's cache. Where
 * for a while every turn has brought only one, nobody waits for company.
 */
const quietTurns = 256
let quiet = 0
let here = 0
let end: Promise<void> | undefined
let resolveEnd: (() => void) | undefined

/** Whether for a while nobody had company. */
export function isTickBatchingIdle(): boolean {
  return quiet >= quietTurns
}

/** Undefined where there is nothing to wait for. */
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
