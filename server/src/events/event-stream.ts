/**
 * One listener's stream (server-sent events). What changes in quick succession is told together, so that however much
 * happens, little is written; and a reader who takes nothing is dropped instead of being waited for.
 */
import { Readable } from 'node:stream'
import type { EndedEvent, EventName, EventTopic } from '@sallyport/protocol/events'

export interface EventStream {
  readable: Readable
  ready: () => void
  tell: (topics: Iterable<EventTopic>) => void
  /** So that whoever stands between does not take the silence for the end. */
  beat: () => void
  end: (reason: EndedEvent['reason']) => void
}

const togetherMs = 250
const mostUnreadBytes = 16 * 1024
/** All who are cut off at once come back one after the other. */
const returnMs = { least: 1_000, spread: 2_000 }

export function createEventStream(): EventStream {
  const readable = new Readable({ read: () => undefined })
  let waiting = new Set<EventTopic>()
  let pause: NodeJS.Timeout | undefined

  const push = (text: string) => {
    if (readable.destroyed || readable.readableEnded) return
    readable.push(text)
    if (readable.readableLength > mostUnreadBytes) readable.destroy()
  }
  const write = (event: EventName, data: object) => {
    push(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  const tellWaiting = () => {
    pause = undefined
    if (waiting.size === 0) return
    const topics = [...waiting]
    waiting = new Set()
    pause = setTimeout(tellWaiting, togetherMs).unref()
    write('changed', { topics })
  }
  readable.on('close', () => {
    clearTimeout(pause)
  })

  return {
    readable,
    ready: () => {
      push(`retry: ${returnMs.least + Math.floor(Math.random() * returnMs.spread)}\n`)
      write('ready', {})
    },
    tell: (topics) => {
      for (const topic of topics) waiting.add(topic)
      // After this turn: one commit can hold several changes.
      pause ??= setTimeout(tellWaiting, 0)
    },
    beat: () => {
      push(':\n\n')
    },
    end: (reason) => {
      clearTimeout(pause)
      waiting = new Set()
      write('ended', { reason } satisfies EndedEvent)
      if (!readable.destroyed) readable.push(null)
    },
  }
}
