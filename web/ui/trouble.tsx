import { Action } from './action.tsx'
import { describeProblem, isProblem } from './problem.ts'
import { View } from './view.tsx'

/** Shown instead of a view that could not be loaded. */
export function Trouble({ problem, again }: { problem: unknown; again: () => unknown }) {
  const isAway = isProblem(problem, 'no_answer', 'timeout')
  return (
    <View title={isAway ? 'The service can’t be reached' : 'That didn’t work'} lead={describeProblem(problem)}>
      <Action look="main" act={again}>
        Try again
      </Action>
    </View>
  )
}
