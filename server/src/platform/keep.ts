const mostKept = 10_000
/** Together: to find the first of a map, V8 walks past all that were taken from before it. */
const forgottenAtOnce = mostKept / 16

/** Notes in a memory what can be had again. Past a bound, what was noted the longest ago is forgotten. */
export function keep<Key, Value>(memory: Map<Key, Value>, key: Key, value: Value): void {
  // What is noted once more is the newest.
  memory.delete(key)
  if (memory.size >= mostKept) forgetSome(memory)
  memory.set(key, value)
}

function forgetSome(memory: Map<unknown, unknown>): void {
  let left = forgottenAtOnce
  for (const oldest of memory.keys()) {
    memory.delete(oldest)
    if (--left === 0) return
  }
}
