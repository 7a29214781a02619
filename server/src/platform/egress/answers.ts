/** Reads a response: into one buffer, as most calls do, or as a stream. */
import { Readable } from 'node:stream'
import { exchange } from './exchange.ts'
import type { Exchange, Head } from './exchange.ts'
import { notDecodable } from './failures.ts'
import type { HeaderPairs } from './header-lists.ts'
import type { SharedSockets } from './pools.ts'

export interface WholeAnswer extends Head {
  body: Buffer
  trailers: HeaderPairs
}

const nothing = Buffer.alloc(0)
/** A Buffer object takes about 100 bytes. Some bodies arrive byte by byte, so after this many chunks they are joined. */
const mostParts = 1024

const longBytes = 65_536

function lengthOf({ headers }: Head): number {
  return Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1])
}

export function collect(shared: SharedSockets, call: Exchange): Promise<WholeAnswer> {
  const { maxBytes, takeRoom } = call.limits
  return new Promise((resolve, reject) => {
    let head: Head
    /** For a long response with a Content-Length. The system assigns its memory as it is filled. */
    let whole: Buffer | undefined
    let first: Buffer = nothing
    let more: Buffer[] | undefined
    const joined: Buffer[] = []
    let bytes = 0
    const fail = exchange(shared, call, {
      head: (given) => {
        head = given
        const length = lengthOf(given)
        if (length > longBytes && length <= maxBytes) whole = Buffer.allocUnsafeSlow(length)
      },
      chunk: (chunk) => {
        bytes += chunk.length
        try {
          takeRoom?.(chunk.length)
        } catch (error) {
          fail(error as Error)
          return
        }
        if (whole && bytes > whole.length) fail(notDecodable(call.url.host, 'longer than its Content-Length'))
        else if (whole) chunk.copy(whole, bytes - chunk.length)
        else if (first === nothing) first = chunk
        else if ((more ??= [first]).push(chunk) === mostParts) joined.push(Buffer.concat(more.splice(0)))
      },
      end: (trailers) => {
        const body = whole?.subarray(0, bytes) ?? (more ? Buffer.concat([...joined, ...more], bytes) : first)
        resolve({ status: head.status, statusText: head.statusText, headers: head.headers, body, trailers })
      },
      fail: reject,
    })
  })
}

export interface StreamedAnswer extends Head {
  body: Readable
  /** Complete once the body was read to its end. */
  trailers: () => HeaderPairs
}

/** With backpressure. If the reader stops, the call is aborted. */
export function stream(shared: SharedSockets, call: Exchange): Promise<StreamedAnswer> {
  return new Promise((resolve, reject) => {
    let body: Readable | undefined
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
        if (body?.push(chunk) === false) flow.pause()
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
