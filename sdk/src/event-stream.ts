/** Reads server-sent events with `fetch`, because `EventSource` can't send a bearer token. */

/** One event. `data` is parsed JSON. */
export interface StreamedEvent {
  event: string
  data: unknown
}

/** Far larger than any event of the service. */
const maxEventLength = 1024 * 1024
/** The service sends a comment at least every 15 seconds. After this long without one, the connection is dead. */
const longestSilenceMs = 45_000

const endOfEvent = /\r\n\r\n|\n\n|\r\r/

/** Yields the events of one connection until it ends. Skips comments, which only keep the connection alive. */
export async function* eventsIn(
  body: ReadableStream<Uint8Array>,
  silenceMs = longestSilenceMs,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const hangUp = () => reader.cancel().catch(() => undefined)
  const next = async () => {
    const timer = setTimeout(() => void hangUp(), silenceMs)
    try {
      return await reader.read()
    } finally {
      clearTimeout(timer)
    }
  }
  /**
   * Chunks of an incomplete event. Joined only when it is complete: joining after each chunk would take quadratic time.
   */
  let parts: string[] = []
  let length = 0
  try {
    for (let part = await next(); part.value; part = await next()) {
      const text = decoder.decode(part.value, { stream: true })
      if (text === '') continue
      const isEnded = endOfEvent.test(parts.slice(-3).join('').slice(-3) + text)
      parts.push(text)
      length += text.length
      if (isEnded) {
        const blocks = parts.join('').split(endOfEvent)
        parts = blocks.splice(-1)
        length = parts[0]?.length ?? 0
        yield* blocks.map(eventIn).filter((event) => event !== undefined)
      }
      if (length > maxEventLength) return
    }
  } finally {
    await hangUp()
  }
}

function eventIn(block: string): StreamedEvent | undefined {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?/s.exec(line) ?? []
    if (name === 'event') event = value
    if (name === 'data') data.push(value)
  }
  if (data.length === 0) return undefined
  try {
    return { event, data: JSON.parse(data.join('\n')) }
  } catch {
    return undefined
  }
}
