/**
 * One client's stream of server-sent events. Changes are debounced, so that bursts cause few writes. A client that does
 * not read is disconnected.
 */
import { Readable } from 'node:stream'
import type { EndedEvent, EventName, EventTopic } from '@sallyport/protocol/events'

export interface EventStream {
  readable: Readable
  ready: () => void
  tell: (topics: Iterable<EventTopic>) => void
  /** Keepalive, so that proxies don't time out an idle connection. */
  beat: () => void
  end: (reason: EndedEvent['reason']) => void
}

const togetherMs = 250
const mostUnreadBytes = 16 * 1024
/** Random reconnect delay, so that clients that lost their connection together don't return together. */
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
      // On the next tick: one commit can contain several changes.
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
