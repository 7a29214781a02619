import { Ago } from '../../ui/time.tsx'
import { describeHistory } from './history.ts'
import type { History } from './history.ts'

export function Before({ history }: { history: History }) {
  const { last_call_at: last } = history
  return (
    <p className="text-sm">
      {describeHistory(history)}{' '}
      {last !== null && (
        <>
          The last was <Ago at={last} />.
        </>
      )}
    </p>
  )
}
