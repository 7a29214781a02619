/**
 * Cooperative scheduling of long work, which is done in slices of a few milliseconds. However much of it there is, one
 * slice runs in every few turns of the event loop. A call takes several turns, so most turns have to be short; when there
 * is nothing else to do, a turn takes microseconds.
 */
const turnsBetween = 4

const waiting: (() => void)[] = []
let turnsLeft = 0
let isTurning = false

/** Resolves when the caller may run its next slice. First in, first out. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (isTurning) return
    isTurning = true
    setImmediate(turn)
  })
}

function turn(): void {
  if (turnsLeft > 0) turnsLeft--
  else {
    const begin = waiting.shift()
    if (!begin) {
      isTurning = false
      return
    }
    begin()
    turnsLeft = turnsBetween
  }
  setImmediate(turn)
}
