/** When to try again: twice as long after each attempt, up to a bound, and never all at the same moment. */
export function retryTime(now: Date, attempts: number, pause: { firstMs: number; longestMs: number }): Date {
  const pauseMs = Math.min(pause.firstMs * 2 ** (attempts - 1), pause.longestMs)
  return new Date(now.getTime() + pauseMs * (0.75 + Math.random() / 2))
}

/** When a `Retry-After` header wants us back (RFC 9110 §10.2.3): seconds, or a date. What is neither, or has passed, is no wish. */
export function retryAfterTime(text: string, now: Date): Date | undefined {
  const time = /^\d{1,9}$/.test(text) ? now.getTime() + Number(text) * 1000 : Date.parse(text)
  return time > now.getTime() ? new Date(time) : undefined
}
