import type { ReactNode } from 'react'

/** The buttons that decide. On a phone they stay in reach at the bottom of the screen. */
export function DecisionBar({ children }: { children: ReactNode }) {
  return (
    <div
      data-part="decision"
      className="sticky bottom-0 z-10 -mx-4 -mb-4 grid short:static auto-cols-fr grid-flow-col gap-3 border-t border-line bg-ground px-4 pt-3 pb-[calc(0.75rem+env(safe-area-inset-bottom))] sm:static sm:mx-0 sm:mb-0 sm:flex sm:border-0 sm:px-0 sm:py-0"
    >
      {children}
    </div>
  )
}
