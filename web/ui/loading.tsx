/** Placeholder while data is loading or could not be loaded. */
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Action } from './action.tsx'
import { describeProblem } from './problem.ts'
import { Notice } from './view.tsx'

export function Loading() {
  return (
    <p role="progressbar" aria-label="Loading" className="py-8 text-center text-quiet">
      Loading …
    </p>
  )
}

interface LoadedProps<T> {
  query: UseQueryResult<T>
  children: (data: T) => ReactNode
}

/** Keeps showing the previous data while refetching. */
export function Loaded<T>({ query, children }: LoadedProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.isPending) return <Loading />
  return (
    <Notice tone="bad">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span>{describeProblem(query.error)}</span>
        <Action act={() => query.refetch()}>Try again</Action>
      </div>
    </Notice>
  )
}
