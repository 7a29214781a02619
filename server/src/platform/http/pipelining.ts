/**
 * A client may send further requests on a connection before it has the first one's answer. They wait: one request of a
 * connection is worked on at a time, so that a client that sends many and reads no answer costs no more than one. A
 * connection with too many waiting is closed.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Hardly any client sends a second request before it has the first one's answer. */
const maxWaiting = 32

export interface LimitedPipelining {
  listener: RequestListener
  /** The answer that is being made or sent on a connection; later requests wait for it. */
  answerOn: (socket: Socket) => ServerResponse | undefined
}

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** Those that wait. The one that is worked on learns from Node that its client is gone. */
function giveUp([, ...waiting]: readonly Exchange[]): void {
  for (const { request } of waiting) request.destroy()
}

export function limitPipelining(listener: RequestListener): LimitedPipelining {
  /** Of each connection, the request that is worked on and then those that wait. */
  const queues = new WeakMap<Socket, Exchange[]>()
  const workOnFirst = (queue: Exchange[]) => {
    const [first] = queue
    if (!first) return
    const { request, response } = first
    response.once('close', () => {
      queue.shift()
      // Nobody is there any more to answer the others.
      if (request.socket.destroyed) queue.length = 0
      workOnFirst(queue)
    })
    listener(request, response)
  }
  return {
    answerOn: (socket) => queues.get(socket)?.[0]?.response,
    listener: (request, response) => {
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
        // Before Node's own listener, which would make an error with a stack for each of them.
        socket.prependOnceListener('close', () => {
          giveUp(queue)
        })
      }
      if (queue.push({ request, response }) === 1) workOnFirst(queue)
    },
  }
}
