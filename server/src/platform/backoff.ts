/** When to retry: exponential backoff up to a maximum, with jitter. */
export function retryTime(now: Date, attempts: number, pause: { firstMs: number; longestMs: number }): Date {
  const pauseMs = Math.min(pause.firstMs * 2 ** (attempts - 1), pause.longestMs)
  return new Date(now.getTime() + pauseMs * (0.75 + Math.random() / 2))
}

/** The time that a `Retry-After` header names (RFC 9110 §10.2.3), as seconds or as a date; undefined if it is past or invalid. */
export function retryAfterTime(text: string, now: Date): Date | undefined {
  const time = /^\d{1,9}$/.test(text) ? now.getTime() + Number(text) * 1000 : Date.parse(text)
  return time > now.getTime() ? new Date(time) : undefined
}
