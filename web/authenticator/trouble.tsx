/** Why nothing can be shown: no network, or this device is out. */
import { Action } from '../ui/action.tsx'
import { describeProblem, isProblem } from '../ui/problem.ts'
import { Notice } from '../ui/view.tsx'
import { forget } from './kept-device.ts'

interface TroubleProps {
  problem: unknown
  again: () => unknown
  onForgotten: () => unknown
}

export function Trouble({ problem, again, onForgotten }: TroubleProps) {
  if (isProblem(problem, 'unauthenticated')) {
    return (
      <Notice tone="bad">
        <p className="font-semibold">This device is no longer paired.</p>
        <p className="mt-1">
          It was removed in the console. It is shown nothing, and what it signs counts for nothing.
        </p>
        <div className="mt-3">
          <Action
            act={async () => {
              await forget()
              await onForgotten()
            }}
          >
            Pair it again
          </Action>
        </div>
      </Notice>
    )
  }
  const isOffline = isProblem(problem, 'no_answer', 'timeout')
  return (
    <Notice>
      <p className="font-semibold">{isOffline ? 'You are offline, or the service is.' : describeProblem(problem)}</p>
      {isOffline && (
        <p className="mt-1">Nothing can be shown or decided until there is a connection. Nothing is lost.</p>
      )}
      <div className="mt-3">
        <Action act={again}>Try again</Action>
      </div>
    </Notice>
  )
}
