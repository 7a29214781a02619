/** Asks for confirmation of actions with consequences. The native dialog traps the focus and closes with Escape. */
import { useEffect, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { flushSync } from 'react-dom'
import { Action } from './action.tsx'
import { focusHeading } from './view.tsx'

interface ConfirmProps {
  /** Text of the button that opens it. */
  opener: ReactNode
  openerLabel?: string
  title: string
  children: ReactNode
  /** Of the buttons. */
  look?: 'danger' | 'plain'
  /** Text of the button that confirms. */
  verb: string
  act: () => unknown
}

export function Confirm({ opener, openerLabel, title, children, look = 'danger', verb, act }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const isDone = useRef(false)
  const [isActing, setIsActing] = useState(false)
  useEffect(
    () => () => {
      // The action removed the opener, and with it the focus.
      if (isDone.current && document.activeElement === document.body) focusHeading()
    },
    [],
  )
  const open = () => {
    // Render the content before opening, so that its first button gets the focus.
    flushSync(() => {
      setIsOpen(true)
    })
    dialog.current?.showModal()
  }
  const close = () => dialog.current?.close()
  return (
    <>
      <Action look={look} act={open} {...(openerLabel && { label: openerLabel })}>
        {opener}
      </Action>
      <dialog
        ref={dialog}
        aria-label={title}
        onCancel={(event) => {
          if (isActing) event.preventDefault()
        }}
        onClose={() => {
          setIsOpen(false)
        }}
        className="m-auto w-[min(30rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-6 text-ink shadow-xl backdrop:bg-black/50"
      >
        {isOpen && (
          <>
            <h2 className="text-lg font-semibold">{title}</h2>
            <div className="mt-2 space-y-3 text-sm text-quiet">{children}</div>
            <div className="mt-5 flex flex-wrap justify-end gap-2">
              <Action act={close} isHeld={isActing}>
                Cancel
              </Action>
              <Action
                look={look === 'plain' ? 'main' : 'danger'}
                act={async () => {
                  // It is under way: closing the dialog would not stop it.
                  setIsActing(true)
                  try {
                    await act()
                    isDone.current = true
                  } finally {
                    setIsActing(false)
                    close()
                  }
                }}
              >
                {verb}
              </Action>
            </div>
          </>
        )}
      </dialog>
    </>
  )
}
