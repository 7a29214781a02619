/**
 * One timer checks all deadlines. Almost every call ends long before its deadline, so a timer for each would cost more
 * than it is worth; in return a deadline may be noticed up to `everyMs` late.
 */
import { createActiveSet } from '../active-set.ts'

type Check = (now: number) => void

const everyMs = 20

const watched = createActiveSet<Check>()
let timer: NodeJS.Timeout | undefined

/** Calls `check` with `performance.now()` at regular intervals, until the returned function is called. */
export function watchDeadline(check: Check): () => void {
  timer ??= setInterval(checkAll, everyMs)
  return watched.add(check)
}

function checkAll(): void {
  const now = performance.now()
  const checks = watched.all()
  for (const check of checks) check(now)
  if (checks.length > 0) return
  clearInterval(timer)
  timer = undefined
}
