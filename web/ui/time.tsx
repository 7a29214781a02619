/** Moments in the reader's own zone and language. */
import { useEffect, useState } from 'react'

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })
const spans = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

export function formatMoment(moment: string | Date): string {
  return dates.format(new Date(moment))
}

export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {formatMoment(at)}
    </time>
  )
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
  return 'just now'
}

/** How long ago, or until when; it moves on by itself. */
export function Ago({ at }: { at: string }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now())
    }, 20_000)
    return () => {
      clearInterval(timer)
    }
  }, [])
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {formatAgo(at, now)}
    </time>
  )
}
