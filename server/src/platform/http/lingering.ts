/**
 * Lingering close: a client that is still sending when it is refused would get a TCP reset instead of the response, so the
 * rest of its request is read for a short time.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'

const lingerMs = 2_000

/** Sends the body, then keeps the response open until the request has ended. */
export async function* answerThenDrain(body: Buffer, request: IncomingMessage): AsyncGenerator<Buffer> {
  yield body
  request.resume()
  await finished(request, { writable: false, signal: AbortSignal.timeout(lingerMs) }).catch(() => undefined)
}

export function answerThenClose(answer: string, socket: Duplex): void {
  socket.end(answer)
  socket.resume()
  const timer = setTimeout(() => {
    socket.destroy()
  }, lingerMs)
  socket.on('close', () => {
    clearTimeout(timer)
  })
}
