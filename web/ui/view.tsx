import { useEffect, useId, useRef } from 'react'
import type { ReactNode, Ref } from 'react'
import { unstacked } from './others-text.ts'
import { takePlace } from './place.ts'
import { showView } from './title.ts'

interface ViewProps {
  title: string
  /** The heading's content, if it is more than the title. */
  heading?: ReactNode
  lead?: ReactNode
  /** Shown next to the heading. */
  actions?: ReactNode
  /** It has columns for wide screens. */
  isWide?: boolean
  children?: ReactNode
}

/** The current view. Its heading gets the focus, so that a screen reader announces it. */
export function View({ title, heading, lead, actions, isWide = false, children }: ViewProps) {
  const place = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    showView(title)
    place.current?.focus({ preventScroll: true })
    takePlace()
  }, [title])
  return (
    <div className={`space-y-6 ${isWide ? '' : 'max-w-224'}`}>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 space-y-1">
          <h1 ref={place} tabIndex={-1} className="text-2xl font-semibold tracking-tight">
            {heading ?? title}
          </h1>
          {lead && <p className="max-w-prose text-quiet">{lead}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** Moves the focus to the view's heading after the focused element was removed. */
export function focusHeading(): void {
  document.querySelector('h1')?.focus({ preventScroll: true })
}

export function Card({ children, label }: { children: ReactNode; label?: string }) {
  return (
    <section aria-label={label} className="rounded-xl border border-line bg-surface p-4 shadow-xs sm:p-5">
      {children}
    </section>
  )
}

interface SectionProps {
  title: string
  note?: ReactNode
  /** To move the focus here when the focused element is removed. */
  headingRef?: Ref<HTMLHeadingElement>
  children: ReactNode
}

/** A part of a view with its own heading. */
export function Section({ title, note, headingRef, children }: SectionProps) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="space-y-3">
      <div>
        <h2 id={id} ref={headingRef} tabIndex={headingRef ? -1 : undefined} className="text-base font-semibold">
          {title}
        </h2>
        {note && <p className="text-sm text-quiet">{note}</p>}
      </div>
      {children}
    </section>
  )
}

/** An empty state: what will appear here, and what to do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="rounded-xl border border-dashed border-edge/50 px-6 py-10 text-center">
      <p className="font-semibold">{title}</p>
      <div className="mx-auto mt-1 max-w-prose space-y-3 text-sm text-quiet">{children}</div>
    </div>
  )
}

type Tone = 'calm' | 'good' | 'warn' | 'bad'

const tones: Record<Tone, string> = {
  calm: 'bg-raised text-quiet border-line',
  good: 'bg-accent-soft text-accent border-transparent',
  warn: 'bg-warn-soft text-warn border-transparent',
  bad: 'bg-danger-soft text-danger border-transparent',
}

export function Badge({ tone = 'calm', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center rounded-full border px-2 py-0.5 text-xs font-semibold whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  )
}

/** A notice or warning. */
export function Notice({ tone = 'warn', children }: { tone?: Tone; children: ReactNode }) {
  return <div className={`rounded-lg border px-4 py-3 text-sm ${tones[tone]}`}>{children}</div>
}

/**
 * Untrusted text within ours. Isolated from the surrounding text direction and highlighted, so that it can't pass for
 * text of ours.
 */
export function Theirs({ children }: { children: string }) {
  return (
    <bdi className="-mx-0.5 rounded-sm bg-ink/6 box-decoration-clone px-0.5 font-semibold wrap-anywhere">
      {unstacked(children)}
    </bdi>
  )
}
