/** Counts ticks of the event loop until `end` is called. */
export function countTurns(): { now: () => number; end: () => number } {
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  return {
    now: () => turns,
    end: () => {
      isOver = true
      return turns
    },
  }
}
