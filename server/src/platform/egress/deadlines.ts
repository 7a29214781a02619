/**
 * One timer for all that is bounded in time. Nearly everything ends long before its bound, and a timer of its own would
 * cost it more than the bound is worth; so each learns of it a moment late.
 */
import { createActiveSet } from '../active-set.ts'

type Check = (now: number) => void

const everyMs = 20

const watched = createActiveSet<Check>()
let timer: NodeJS.Timeout | undefined

/** From now on `check` is called again and again with what `performance.now()` says. Returns the way to end that. */
export function watchDeadline(check: Check): () => void {
  timer ??= setInterval(checkAll, everyMs)
  return watched.enter(check)
}

function checkAll(): void {
  const now = performance.now()
  const checks = watched.all()
  for (const check of checks) check(now)
  if (checks.length > 0) return
  clearInterval(timer)
  timer = undefined
}
