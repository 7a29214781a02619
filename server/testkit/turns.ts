/** Counts how often the event loop turns, until `end` is called: what else could have had its turn. */
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
