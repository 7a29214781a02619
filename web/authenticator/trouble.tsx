/** Shown on errors: offline, or this device was removed. */
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
          It was removed in the console. It no longer sees requests, and its signatures aren’t accepted.
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
      <p className="font-semibold">
        {isOffline ? 'You’re offline, or the service can’t be reached.' : describeProblem(problem)}
      </p>
      {isOffline && <p className="mt-1">Requests will appear again once you’re connected. Nothing is lost.</p>}
      <div className="mt-3">
        <Action act={again}>Try again</Action>
      </div>
    </Notice>
  )
}
