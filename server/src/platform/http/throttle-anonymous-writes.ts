/**
 * Starts only a few anonymous writes (registrations, sign-ins) in each turn of the event loop, so that calls with a
 * credential don't wait for a flood of them.
 */
import type { IncomingMessage, RequestListener } from 'node:http'

const perTurn = 2
const reading = ['GET', 'HEAD', 'OPTIONS']

export function throttleAnonymousWrites(listener: RequestListener): RequestListener {
  const waiting: (() => void)[] = []
  let begun = 0
  const nextTurn = () => {
    begun = 0
    for (const begin of waiting.splice(0, perTurn)) {
      begun++
      begin()
    }
    if (begun > 0) setImmediate(nextTurn)
  }
  return (request, response) => {
    if (!isAnonymousWrite(request)) {
      listener(request, response)
    } else if (begun < perTurn) {
      if (begun === 0) setImmediate(nextTurn)
      begun++
      listener(request, response)
    } else {
      waiting.push(() => {
        if (!request.socket.destroyed) listener(request, response)
      })
    }
  }
}

function isAnonymousWrite({ method = '', headers }: IncomingMessage): boolean {
  return !reading.includes(method) && headers.authorization === undefined && headers.cookie === undefined
}
