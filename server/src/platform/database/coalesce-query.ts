/**
 * Coalesces concurrent calls of a query. Calls in the same tick share one run, and calls that arrive during a run share the
 * next one. So a result is never older than the call that gets it.
 */
export function coalesce<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<Result> | undefined
  const runNext = async () => {
    await current
    await new Promise((resolve) => {
      process.nextTick(resolve)
    })
    next = undefined
    const result = run()
    current = result.catch(() => undefined)
    return result
  }
  return () => (next ??= runNext())
}
