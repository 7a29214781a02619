/** Reads a response: into one buffer, as most calls do, or as a stream. */
import { Readable } from 'node:stream'
import type { Duplex } from 'node:stream'
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
const shortBytes = 32_768

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
  /** All of a short body that has arrived already. It can't be read from `body` any more. */
  arrived?: () => Buffer | undefined
  /** Complete once the body was read to its end. */
  trailers: () => HeaderPairs
  /** Of a handshake that the upstream has agreed to. Then there is no body. */
  socket?: Duplex
}

/** With backpressure. If the reader stops, the call is aborted. */
export function stream(shared: SharedSockets, call: Exchange): Promise<StreamedAnswer> {
  return new Promise((resolve, reject) => {
    let body: Readable | undefined
    let trailers: HeaderPairs = []
    let isComplete = false
    const arrived = () =>
      isComplete && body && body.readableLength <= shortBytes ? ((body.read() as Buffer | null) ?? nothing) : undefined
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
        resolve({ ...head, body, arrived, trailers: () => trailers })
      },
      chunk: (chunk, flow) => {
        if (body?.push(chunk) === false) flow.pause()
      },
      end: (given) => {
        trailers = given
        isComplete = true
        body?.push(null)
      },
      upgraded: (head, socket) => {
        resolve({ ...head, body: Readable.from([]), trailers: () => [], socket })
      },
      fail: (error) => {
        body?.destroy(error)
        reject(error)
      },
    })
  })
}
