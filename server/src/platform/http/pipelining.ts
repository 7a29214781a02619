import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Hardly any client sends a second request before it has the first one's answer. */
const maxWaiting = 32

/**
 * A client may send requests by the thousand and read no answer: each would be worked on, and kept with all that it
 * holds open. One that has too many waiting is cut off.
 */
export function boundPipelining(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>()
  return (request, response) => {
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > maxWaiting) {
      socket.destroy()
      return
    }
    waiting.set(socket, count)
    response.once('close', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
    })
    listener(request, response)
  }
}
