/** A streamed response with backpressure. If the reader stops, the call is aborted. */
import { Readable } from 'node:stream'
import { exchange } from './exchange.ts'
import type { Exchange, Head } from './exchange.ts'
import { tooLarge } from './failures.ts'
import type { HeaderPairs } from './header-lists.ts'
import type { SharedSockets } from './pools.ts'

export interface StreamedAnswer extends Head {
  body: Readable
  /** Complete once the body was read to its end. */
  trailers: () => HeaderPairs
}

export function stream(shared: SharedSockets, call: Exchange): Promise<StreamedAnswer> {
  const { maxBytes } = call.limits
  return new Promise((resolve, reject) => {
    let body: Readable | undefined
    let bytes = 0
    let trailers: HeaderPairs = []
    const fail = exchange(shared, call, {
      head: (head, flow) => {
        body = new Readable({
          read: () => {
            flow.resume()
          },
          // Aborts the exchange, which frees the socket.
          destroy: (error, done) => {
            if (!body?.readableEnded) fail(error ?? new Error('The reader went away'))
            done(error)
          },
        })
        // The reader gets the error. Without a listener it would end the process if nothing reads.
        body.on('error', () => undefined)
        resolve({ ...head, body, trailers: () => trailers })
      },
      chunk: (chunk, flow) => {
        bytes += chunk.length
        if (bytes > maxBytes) fail(tooLarge(call.url.host, `more than ${maxBytes} bytes`))
        else if (body?.push(chunk) === false) flow.pause()
      },
      end: (given) => {
        trailers = given
        body?.push(null)
      },
      fail: (error) => {
        body?.destroy(error)
        reject(error)
      },
    })
  })
}
