/** Limits how long a request may take to arrive. Node has such a limit too, but it can't be lifted for a single request. */
import type { IncomingMessage, Server } from 'node:http'

const isUnlimited = Symbol('the body may take longer')

type Request = IncomingMessage & { [isUnlimited]?: true }

/** For a body that is passed on as it arrives. Its reader has its own limit. */
export function letBodyTakeLonger(request: Request): void {
  request[isUnlimited] = true
}

/** A request that takes longer is reported as Node would report it: as a `clientError`. */
export function limitArrivalTime(server: Server, maxMs: number): void {
  const late = new Map<Request, number>()
  let arriving: Request[] = []
  let timer: NodeJS.Timeout | undefined
  // Most requests arrive in one piece, so they are complete in the same turn of the event loop.
  const watchIncomplete = () => {
    const now = performance.now()
    for (const request of arriving) if (!isOver(request)) late.set(request, now)
    arriving = []
    if (late.size > 0) timer ??= setInterval(endLate, Math.min(maxMs / 4, 1000)).unref()
  }
  const endLate = () => {
    const now = performance.now()
    for (const [request, since] of late) {
      if (isOver(request)) late.delete(request)
      else if (now - since >= maxMs) {
        late.delete(request)
        const error = Object.assign(new Error('The request took too long'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
        server.emit('clientError', error, request.socket)
      }
    }
    if (late.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  server.on('request', (request: Request) => {
    if (arriving.push(request) === 1) setImmediate(watchIncomplete)
  })
}

function isOver(request: Request): boolean {
  return request.complete || request.destroyed || request[isUnlimited] === true
}
