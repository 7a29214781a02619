/** Buttons with an action. Ignores further clicks, such as a double click, until it is done. */
import { useRef, useState } from 'react'
import type { MouseEvent, ReactNode } from 'react'
import { useSay } from './message.tsx'

type Look = 'main' | 'plain' | 'danger' | 'bare'

const looks: Record<Look, string> = {
  main: 'bg-accent text-on-accent hover:brightness-110',
  plain: 'bg-surface text-ink border border-edge/50 hover:bg-raised',
  danger: 'bg-surface text-danger border border-danger/50 hover:bg-danger-soft',
  bare: 'text-accent hover:bg-accent-soft',
}

/** A bar runs along the lower edge, so that the label stays and nothing moves. */
const busyLook =
  'relative overflow-hidden aria-busy:cursor-progress aria-busy:after:absolute aria-busy:after:bottom-0 aria-busy:after:left-0 aria-busy:after:h-1 aria-busy:after:w-1/3 aria-busy:after:animate-pass aria-busy:after:bg-current aria-busy:after:content-[""]'

export function buttonLook(look: Look): string {
  return `inline-flex min-h-10 items-center justify-center gap-2 rounded-lg px-4 py-1.5 text-sm font-semibold wrap-normal transition not-aria-busy:aria-disabled:opacity-50 aria-disabled:cursor-not-allowed ${busyLook} ${looks[look]}`
}

interface ActionProps {
  /** The action. Errors are shown to the user. */
  act: () => unknown
  look?: Look
  /** Does nothing, but stays in place and keeps the focus. */
  isHeld?: boolean
  /** Also triggered by Enter in a field of its form. */
  submits?: boolean
  label?: string
  children: ReactNode
}

export function Action({ act, look = 'plain', isHeld = false, submits = false, label, children }: ActionProps) {
  const { hush, complain } = useSay()
  const isBusy = useRef(false)
  const [showsBusy, setShowsBusy] = useState(false)
  const click = async (event: MouseEvent) => {
    if (isBusy.current || isHeld || event.detail > 1) return
    isBusy.current = true
    setShowsBusy(true)
    hush()
    try {
      await act()
    } catch (problem) {
      complain(problem)
    } finally {
      isBusy.current = false
      setShowsBusy(false)
    }
  }
  return (
    <button
      type={submits ? 'submit' : 'button'}
      className={buttonLook(look)}
      aria-label={label}
      aria-busy={showsBusy}
      aria-disabled={isHeld || showsBusy}
      onClick={(event) => void click(event)}
    >
      {children}
    </button>
  )
}
