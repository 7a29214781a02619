/**
 * A client that is still sending when it is refused would get a reset instead of the answer, unless what it sends is
 * taken for a while. Not for long: one that never goes must not keep its connection.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'

const lingerMs = 2_000

/** The answer's body goes out at once; it ends when the request has. */
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
