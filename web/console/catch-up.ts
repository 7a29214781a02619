/**
 * Refetches changed data: one request at a time per key, then a pause, then once more if there were changes meanwhile.
 * A busy agent can neither flood the service with requests nor keep them from finishing.
 */
export function createCatchUp(ask: (key: string) => Promise<unknown>, pause: () => Promise<void>) {
  const asking = new Set<string>()
  const changed = new Set<string>()

  const catchUp = async (key: string) => {
    asking.add(key)
    while (changed.delete(key)) {
      await ask(key).catch(() => undefined)
      await pause()
    }
    asking.delete(key)
  }

  return (keys: Iterable<string>): void => {
    for (const key of keys) {
      changed.add(key)
      if (!asking.has(key)) void catchUp(key)
    }
  }
}
