/**
 * Bounds the memory that request bodies take while they arrive and are worked on, over all callers: each may be
 * small enough, and all of them together more than the machine has.
 */
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

export interface BodiesInFlight {
  /** Returns the way to give the room back, which counts once; undefined where there is none. */
  claim: (bytes: number) => (() => void) | undefined
}

export function createBodiesInFlight(maxBytes: number): BodiesInFlight {
  let bytes = 0
  return {
    claim: (more) => {
      if (bytes + more > maxBytes) return undefined
      bytes += more
      let claimed = more
      return () => {
        bytes -= claimed
        claimed = 0
      }
    },
  }
}

export function boundBodiesInFlight(http: Http, bodies: BodiesInFlight): void {
  http.addHook('preParsing', (request, reply, _payload, done) => {
    const { headers, routeOptions } = request
    const { bodyLimit } = routeOptions
    const isChunked = headers['transfer-encoding'] !== undefined
    const announced = isChunked ? bodyLimit : Number(headers['content-length'] ?? 0)
    // Over its own limit, a body is not read.
    const release = bodies.claim(Math.min(announced, bodyLimit))
    if (!release) {
      done(new ServiceError('rate_limited', { retryAfterSeconds: 1 }))
      return
    }
    // Who hung up while it was asked who they are closes nothing any more.
    if (reply.raw.closed) release()
    else reply.raw.once('close', release)
    done()
  })
}
