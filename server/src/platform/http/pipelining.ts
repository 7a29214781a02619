/**
 * HTTP pipelining: a client may send requests before it has the response to the first. They are processed one at a time,
 * so a client that sends many and reads no response costs no more than one. With too many waiting, the connection is closed.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Real clients hardly ever pipeline. */
const maxWaiting = 32

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** Drops waiting requests. The one in progress is told by Node that its client is gone. */
function giveUp([, ...waiting]: readonly Exchange[]): void {
  for (const { request } of waiting) request.destroy()
}

export function limitPipelining(listener: RequestListener) {
  /** For each connection: the request in progress, then those that wait. */
  const queues = new WeakMap<Socket, Exchange[]>()
  const workOnFirst = (queue: Exchange[]) => {
    const [first] = queue
    if (!first) return
    const { request, response } = first
    response.once('close', () => {
      queue.shift()
      // The client is gone, so the waiting requests need no response.
      if (request.socket.destroyed) queue.length = 0
      workOnFirst(queue)
    })
    listener(request, response)
  }
  return {
    /** The response in progress on a connection. */
    answerOn: (socket: Socket): ServerResponse | undefined => queues.get(socket)?.[0]?.response,
    listener: ((request, response) => {
      const { socket } = request
      const queue = queues.get(socket) ?? []
      if (queue.length >= maxWaiting) {
        giveUp(queue)
        request.destroy()
        socket.destroy()
        return
      }
      if (!queues.has(socket)) {
        queues.set(socket, queue)
        // Before Node's own listener, which would create an error with a stack trace for each waiting request.
        socket.prependOnceListener('close', () => {
          giveUp(queue)
        })
      }
      if (queue.push({ request, response }) === 1) workOnFirst(queue)
    }) satisfies RequestListener,
  }
}
