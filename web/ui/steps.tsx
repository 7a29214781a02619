import type { ReactNode } from 'react'
import { Card } from './view.tsx'

/** Numbered steps. Those that are done have a tick. */
export function Steps({ children }: { children: ReactNode }) {
  return <ol className="space-y-4">{children}</ol>
}

interface StepProps {
  number: number
  title: string
  isDone?: boolean
  children?: ReactNode
}

export function Step({ number, title, isDone = false, children }: StepProps) {
  return (
    <li>
      <Card>
        <div className="flex gap-4">
          <span
            aria-hidden="true"
            className={`grid size-8 shrink-0 place-items-center rounded-full text-sm font-semibold ${isDone ? 'bg-accent text-on-accent' : 'bg-accent-soft text-accent'}`}
          >
            {isDone ? '✓' : number}
          </span>
          <div className="min-w-0 grow space-y-3 text-quiet">
            <h2 className="pt-1 font-semibold text-ink">
              {title}
              {isDone && <span className="sr-only"> (done)</span>}
            </h2>
            {children}
          </div>
        </div>
      </Card>
    </li>
  )
}
