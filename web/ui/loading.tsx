/** Placeholder while data is loading or could not be loaded. */
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Action } from './action.tsx'
import { describeProblem } from './problem.ts'
import { Notice } from './view.tsx'

/** What is being loaded, so that its outline can be shown. */
type Shape = 'text' | 'rows' | 'cards' | 'chart' | 'view'

export function Loading({ shape = 'text' }: { shape?: Shape }) {
  return (
    <div role="progressbar" aria-label="Loading">
      {shape === 'view' ? (
        <div className="space-y-6">
          <Bar look="h-8 w-40" />
          <Outline shape="cards" />
        </div>
      ) : (
        <Outline shape={shape} />
      )}
    </div>
  )
}

function Outline({ shape }: { shape: Exclude<Shape, 'view'> }) {
  if (shape === 'chart') return <Bar look="h-58 sm:h-52" />
  if (shape === 'cards') {
    return (
      <div className="space-y-4">
        {['h-40', 'h-40', 'h-40'].map((height, index) => (
          <Bar key={index} look={`${height} rounded-xl`} />
        ))}
      </div>
    )
  }
  const lines = shape === 'rows' ? 8 : 3
  return (
    <div className={shape === 'rows' ? 'divide-y divide-line rounded-xl border border-line bg-surface' : ''}>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className={shape === 'rows' ? 'px-4 py-3.5' : 'py-2'}>
          <Bar look={`h-3.5 ${widths[index % widths.length]}`} />
        </div>
      ))}
    </div>
  )
}

const widths = ['w-3/5', 'w-4/5', 'w-2/5', 'w-3/4', 'w-1/2']

function Bar({ look }: { look: string }) {
  return <div className={`animate-await rounded-md bg-ink/6 motion-reduce:animate-none ${look}`} />
}

interface LoadedProps<T> {
  query: UseQueryResult<T>
  shape?: Shape
  children: (data: T) => ReactNode
}

/** Keeps showing the previous data while refetching. */
export function Loaded<T>({ query, shape = 'text', children }: LoadedProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.isPending) return <Loading shape={shape} />
  return <NotLoaded query={query} />
}

/** In place of what could not be loaded. */
export function NotLoaded({ query }: { query: Pick<UseQueryResult, 'error' | 'refetch'> }) {
  return (
    <Notice tone="bad">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span>{describeProblem(query.error)}</span>
        <Action act={() => query.refetch()}>Try again</Action>
      </div>
    </Notice>
  )
}
