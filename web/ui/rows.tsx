import type { ReactNode } from 'react'

/** Names and what belongs to them, one below the other on a phone. */
export function Rows({ children }: { children: ReactNode }) {
  return (
    <dl className="divide-y divide-line [&>div]:py-4 [&>div:first-child]:pt-0 [&>div:last-child]:pb-0">{children}</dl>
  )
}

export function Row({ name, id, children }: { name: string; id?: string; children: ReactNode }) {
  return (
    <div className="sm:grid sm:grid-cols-[10rem_minmax(0,1fr)] sm:gap-4">
      <dt id={id} className="mb-1 text-sm font-medium text-quiet sm:mt-0.5">
        {name}
      </dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  )
}
