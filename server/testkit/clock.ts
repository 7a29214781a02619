import type { Clock } from '../src/platform/clock.ts'

/** A clock that stands still until it is told to move. */
export interface FixedClock {
  now: Clock
  advance: (seconds: number) => void
  /** For a clock that follows the database's: how far the system clock is ahead of it. */
  offsetMs?: () => number
}

export function fixedClock(start = new Date('2026-11-15T12:00:00.000Z')): FixedClock {
  let time = start.getTime()
  return {
    now: () => new Date(time),
    advance: (seconds) => {
      time += seconds * 1000
    },
  }
}
