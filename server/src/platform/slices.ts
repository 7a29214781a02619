/**
 * Long work is done in slices of a few milliseconds. Of all such work in the process one slice runs in each turn of the
 * event loop, however many want one: calls that are quickly done wait for one slice at most.
 */
const waiting: (() => void)[] = []

/** Resolves when it is this work's turn. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(runOne)
  })
}

function runOne(): void {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) setImmediate(runOne)
}
