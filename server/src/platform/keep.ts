const mostKept = 10_000

/** Notes in a memory what can be had again. Past a bound, what was noted first is forgotten. */
export function keep<Key, Value>(memory: Map<Key, Value>, key: Key, value: Value): void {
  if (memory.size >= mostKept && !memory.has(key)) {
    for (const first of memory.keys()) {
      memory.delete(first)
      break
    }
  }
  memory.set(key, value)
}
