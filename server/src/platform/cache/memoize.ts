/** Caches in memory for values that can be computed again. */

/** Caches a pure function of an object for as long as that object, or the one that `keyOf` names, is alive. */
export function memoizeByObject<Input extends object, Result extends object>(
  compute: (input: Input) => Result,
  keyOf: (input: Input) => object = (input) => input,
): (input: Input) => Result {
  const results = new WeakMap<object, Result>()
  return (input) => {
    const key = keyOf(input)
    let result = results.get(key)
    if (!result) results.set(key, (result = compute(input)))
    return result
  }
}

/** Caches a pure function of a string. `undefined` is never cached. */
export function memoizeByText<Result>(compute: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, Result>()
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = compute(text)
    setBounded(results, text, result)
    return result
  }
}

const maxEntries = 10_000
/** Many at a time: to find a map's first entry, V8 walks past all deleted entries before it. */
const evictedAtOnce = maxEntries / 16

/** Adds an entry to a map that is used as a cache. When it is full, the entries written the longest ago are evicted. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  // Writing an entry again makes it the newest.
  map.delete(key)
  if (map.size >= maxEntries) evictOldest(map)
  map.set(key, value)
}

function evictOldest(map: Map<unknown, unknown>): void {
  let left = evictedAtOnce
  for (const oldest of map.keys()) {
    map.delete(oldest)
    if (--left === 0) return
  }
}
