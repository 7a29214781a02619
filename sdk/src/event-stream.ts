/** Server-sent events over `fetch`, so that a bearer token does as well as a cookie. */

/** One event of the service. `data` is its JSON. */
export interface ServiceEvent {
  event: string
  data: unknown
}

/** No event of the service comes near it. */
const maxEventLength = 1024 * 1024

/** The events of one connection, until it ends. Comments, which keep a connection alive, are passed over. */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ServiceEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let part = await reader.read(); part.value; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true })
      const blocks = text.split(/\r\n\r\n|\n\n|\r\r/)
      text = blocks.pop() ?? ''
      if (text.length > maxEventLength) throw new RangeError('An event is larger than any of this service.')
      for (const block of blocks) {
        const event = eventIn(block)
        if (event) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function eventIn(block: string): ServiceEvent | undefined {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
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
