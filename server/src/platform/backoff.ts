/** When to try again: twice as long after each attempt, up to a bound, and never all at the same moment. */
export function later(now: Date, attempts: number, pause: { firstMs: number; longestMs: number }): Date {
  const pauseMs = Math.min(pause.firstMs * 2 ** (attempts - 1), pause.longestMs)
  return new Date(now.getTime() + pauseMs * (0.75 + Math.random() / 2))
}
