/** One line that says what just happened, announced by screen readers. */
import { createContext, use, useCallback, useEffect, useMemo, useState } from 'react'
import type { ReactNode } from 'react'
import { describeProblem } from './problem.ts'

interface Message {
  text: string
  isProblem: boolean
}

interface Say {
  say: (text: string) => void
  complain: (problem: unknown) => void
  hush: () => void
}

const MessageContext = createContext<Message>({ text: '', isProblem: false })
const SayContext = createContext<Say | undefined>(undefined)

interface MessagesProps {
  /** Also called with every error. Has to be a stable function. */
  onProblem?: (problem: unknown) => void
  children: ReactNode
}

export function Messages({ onProblem, children }: MessagesProps) {
  const [message, setMessage] = useState<Message>({ text: '', isProblem: false })
  const show = useCallback((text: string, isProblem: boolean) => {
    setMessage({ text, isProblem })
  }, [])
  const say = useMemo<Say>(
    () => ({
      say: (text) => {
        show(text, false)
      },
      complain: (problem) => {
        onProblem?.(problem)
        show(typeof problem === 'string' ? problem : describeProblem(problem), true)
      },
      hush: () => {
        show('', false)
      },
    }),
    [show, onProblem],
  )
  return (
    <SayContext value={say}>
      <MessageContext value={message}>{children}</MessageContext>
    </SayContext>
  )
}

export function useSay(): Say {
  const say = use(SayContext)
  if (!say) throw new Error('useSay outside of Messages')
  return say
}

/** Always in the document, so that screen readers announce changes. Positioned on top, so that nothing shifts. */
export function MessageLine() {
  const message = use(MessageContext)
  const { text, isProblem } = message
  const isRead = useIsRead(message)
  const look = isProblem ? 'bg-danger-soft text-danger border-danger/40' : 'bg-accent-soft text-accent border-accent/40'
  const place =
    'pointer-events-none fixed inset-x-3 top-2 z-20 mx-auto w-fit max-w-xl rounded-lg border px-4 py-2.5 text-sm font-medium shadow-md'
  return (
    <p role="status" className={text === '' || isRead ? 'sr-only' : `${place} ${look}`}>
      {text}
    </p>
  )
}

const readingMs = 8000

/** Hides a message after a while. An error stays until the next action. */
function useIsRead(message: Message): boolean {
  const [read, setRead] = useState<Message>()
  useEffect(() => {
    if (message.text === '' || message.isProblem) return
    const timer = setTimeout(() => {
      setRead(message)
    }, readingMs)
    return () => {
      clearTimeout(timer)
    }
  }, [message])
  return read === message
}
