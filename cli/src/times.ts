/** Formats times for people. Scripts get them as the service sent them. */
const units = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

export function fromNow(time: string | null, never: string, now = Date.now()): string {
  if (time === null) return never
  const distance = Date.parse(time) - now
  const [name, size] = units.find(([, length]) => Math.abs(distance) >= length) ?? ['s', 1000]
  const count = Math.round(Math.abs(distance) / size)
  const text = `${count} ${name}${name === 'day' && count !== 1 ? 's' : ''}`
  return distance < 0 ? `${text} ago` : `in ${text}`
}

export function elapsed(sinceMs: number, now = Date.now()): string {
  const seconds = Math.floor((now - sinceMs) / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
