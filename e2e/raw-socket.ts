/** A raw connection to the service: sends any bytes, and parses the responses as HTTP/1.1. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { within } from './running-service.ts'

export interface RawAnswer {
  status: number
  headers: Map<string, string>
  text: string
}

export interface RawSocket {
  send: (bytes: string | Uint8Array) => void
  /** The next responses on the connection; fewer if it ends before. */
  answers: (count: number) => Promise<RawAnswer[]>
  closed: () => Promise<void>
  isDropped: () => boolean
  destroy: () => void
}

/** With `stays` it does not close its side when the service closes the other. */
export async function openSocket(port: number, { stays = false } = {}): Promise<RawSocket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: stays })
  await once(socket, 'connect')
  let received = Buffer.alloc(0)
  let isClosed = false
  let wake = Promise.withResolvers<undefined>()
  const changed = () => {
    wake.resolve(undefined)
    wake = Promise.withResolvers()
  }
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    changed()
  })
  // The service may reset the connection while a refused request is still being sent.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
    changed()
  })
  const read = async (count: number) => {
    const answers: RawAnswer[] = []
    for (;;) {
      for (let frame = takeFrame(received); frame && answers.length < count; frame = takeFrame(received)) {
        answers.push(frame.answer)
        received = received.subarray(frame.length)
      }
      if (answers.length === count || isClosed) return answers
      await wake.promise
    }
  }
  return {
    send: (bytes) => {
      if (!socket.destroyed) socket.write(bytes)
    },
    answers: (count) => within(read(count), `the service sent no ${count} answers but ${received.toString('latin1')}`),
    closed: () =>
      within(isClosed ? Promise.resolve() : once(socket, 'close').then(() => undefined), 'the connection stayed open'),
    isDropped: () => socket.destroyed,
    destroy: () => socket.destroy(),
  }
}

/** One response with a Content-Length, which all but streams have; undefined until it is complete. */
function takeFrame(bytes: Buffer): { answer: RawAnswer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const status = Number(first.split(' ')[1])
  const end = headEnd + 4 + (status === 100 ? 0 : Number(headers.get('content-length')))
  if (bytes.length < end) return undefined
  return { answer: { status, headers, text: bytes.toString('utf8', headEnd + 4, end) }, length: end }
}
