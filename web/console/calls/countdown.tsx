import { useNow } from '../../ui/time.tsx'
import { formatCountdown } from './describe-held-call.ts'

/** The time left. Screen readers don't announce each second. */
export function Countdown({ to }: { to: string }) {
  const left = Date.parse(to) - useNow(1000)
  return (
    <span role="timer" className="tabular-nums">
      {left > 0 ? `${formatCountdown(left)} left` : 'Expired'}
    </span>
  )
}
