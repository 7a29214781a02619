import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Hardly any client sends a second request before it has the first one's answer. */
const maxWaiting = 32

export interface BoundPipelining {
  listener: RequestListener
  /** The answer that is being made or sent on a connection; those to later requests wait for it. */
  answerOn: (socket: Socket) => ServerResponse | undefined
}

/**
 * A client may send requests by the thousand and read no answer: each would be worked on, and kept with all that it
 * holds open. One that has too many waiting is cut off.
 */
export function boundPipelining(listener: RequestListener): BoundPipelining {
  const waiting = new WeakMap<Socket, Set<ServerResponse>>()
  return {
    answerOn: (socket) => waiting.get(socket)?.values().next().value,
    listener: (request, response) => {
      const { socket } = request
      const answers = waiting.get(socket) ?? new Set()
      if (answers.size >= maxWaiting) {
        socket.destroy()
        return
      }
      waiting.set(socket, answers.add(response))
      response.once('close', () => answers.delete(response))
      listener(request, response)
    },
  }
}
