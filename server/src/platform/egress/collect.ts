/** An answer read whole, straight from the socket: what most calls are. */
import { exchange } from './exchange.ts'
import type { Exchange, Head } from './exchange.ts'
import { tooLarge } from './failures.ts'
import type { HeaderPairs } from './header-lists.ts'
import type { SharedSockets } from './pools.ts'

export interface WholeAnswer extends Head {
  body: Buffer
  trailers: HeaderPairs
}

const nothing = Buffer.alloc(0)
/** A buffer itself weighs a hundred bytes. Where so many came they are joined: some bodies come byte by byte. */
const mostParts = 1024

export function collect(shared: SharedSockets, call: Exchange): Promise<WholeAnswer> {
  const { maxBytes, takeRoom } = call.limits
  return new Promise((resolve, reject) => {
    let head: Head
    let first: Buffer = nothing
    let more: Buffer[] | undefined
    const joined: Buffer[] = []
    let bytes = 0
    const fail = exchange(shared, call, {
      head: (given) => {
        head = given
      },
      chunk: (chunk) => {
        bytes += chunk.length
        if (bytes > maxBytes) {
          fail(tooLarge(call.url.host, `more than ${maxBytes} bytes`))
          return
        }
        try {
          takeRoom?.(chunk.length)
        } catch (error) {
          fail(error as Error)
          return
        }
        if (first === nothing) first = chunk
        else if ((more ??= [first]).push(chunk) === mostParts) joined.push(Buffer.concat(more.splice(0)))
      },
      end: (trailers) => {
        const body = more ? Buffer.concat([...joined, ...more], bytes) : first
        resolve({ status: head.status, statusText: head.statusText, headers: head.headers, body, trailers })
      },
      fail: reject,
    })
  })
}
