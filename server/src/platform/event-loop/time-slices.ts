/**
 * Long work is done in slices of a few milliseconds. Of all such work in the process one slice runs in every few turns of
 * the event loop, however many want one. A call takes several turns, so most of them have to be short; where there is
 * nothing else to do, turns pass in microseconds.
 */
const turnsBetween = 4

const waiting: (() => void)[] = []
let turnsLeft = 0
let isTurning = false

/** Resolves when it is this work's turn. */
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
