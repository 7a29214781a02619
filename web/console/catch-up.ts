/**
 * Asks anew for what has changed, however often it does: one question at a time for each key, a pause, and once more
 * where something changed meanwhile. A busy agent neither floods the service with questions nor keeps them from being
 * answered.
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
