/**
 * Those who are here just now, where many come and go. Not a Set: V8 links every table of a Set to the one that takes
 * its place, so that from the first that has grown old all that came later is kept alive.
 */
export interface ActiveSet<One> {
  /** Returns the way to leave. */
  enter: (one: One) => () => void
  /** As they are at this moment. */
  all: () => One[]
}

interface Place<One> {
  one: One
  at: number
}

const gone = -1

export function createActiveSet<One>(): ActiveSet<One> {
  const places: Place<One>[] = []
  return {
    enter: (one) => {
      const place = { one, at: places.length }
      places.push(place)
      return () => {
        if (place.at === gone) return
        // The last takes the place that has become free.
        const last = places.pop()
        if (last && last !== place) {
          places[place.at] = last
          last.at = place.at
        }
        place.at = gone
      }
    },
    all: () => places.map(({ one }) => one),
  }
}
