/** Counts how often the event loop turns, until `end` is called: what else could have had its turn. */
export function countTurns(): { end: () => number } {
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  return {
    end: () => {
      isOver = true
      return turns
    },
  }
}
