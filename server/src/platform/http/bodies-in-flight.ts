/**
 * Bounds the memory that request bodies take while they arrive and are worked on, over all callers: each may be
 * small enough, and all of them together more than the machine has.
 */
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

export function boundBodiesInFlight(http: Http, maxBytes: number): void {
  let bytes = 0
  http.addHook('preParsing', (request, reply, _payload, done) => {
    const { headers, routeOptions } = request
    const { bodyLimit } = routeOptions
    const isChunked = headers['transfer-encoding'] !== undefined
    const announced = isChunked ? bodyLimit : Number(headers['content-length'] ?? 0)
    // Over its own limit, a body is not read.
    const claimed = Math.min(announced, bodyLimit)
    if (bytes + claimed > maxBytes) {
      done(new ServiceError('rate_limited', { retryAfterSeconds: 1 }))
      return
    }
    bytes += claimed
    reply.raw.once('close', () => {
      bytes -= claimed
    })
    done()
  })
}
