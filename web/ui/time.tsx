/** Times in the user's time zone and language. */
import { useEffect, useState } from 'react'

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const times = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })
const spans = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

export function formatMoment(moment: string | Date): string {
  return dates.format(new Date(moment))
}

/** The time of day, with seconds. */
export function formatTime(moment: string | number | Date): string {
  return times.format(new Date(moment))
}

export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {formatMoment(at)}
    </time>
  )
}

const toTheSecond = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** With seconds. */
export function ExactMoment({ at }: { at: string }) {
  return <time dateTime={at}>{toTheSecond.format(new Date(at))}</time>
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

export function formatAgo(at: string | Date, now: number): string {
  const span = new Date(at).getTime() - now
  for (const [unit, length] of units) {
    if (Math.abs(span) >= length) return spans.format(Math.trunc(span / length), unit)
  }
  // A server clock slightly ahead must not show a time in the future.
  return span > 10_000 ? 'within a minute' : 'just now'
}

/** The current time, updated regularly. */
export function useNow(everyMs = 20_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now())
    }, everyMs)
    return () => {
      clearInterval(timer)
    }
  }, [everyMs])
  return now
}

/** Relative time, such as "5 minutes ago". */
export function Ago({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {formatAgo(at, now)}
    </time>
  )
}
