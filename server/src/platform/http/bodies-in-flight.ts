/**
 * Limits the memory of request bodies while they arrive and are processed. Only bytes that have arrived count, so a client
 * that announces a body and never sends it takes nothing from others. Of a streamed body the route counts what it keeps.
 */
import type { FastifyRequest } from 'fastify'
import { createByteBudget } from '../limits/byte-budget.ts'
import type { Hold, Share } from '../limits/byte-budget.ts'
import { addressBlock } from '../limits/client-address.ts'
import type { PlatformConfig } from '../config/platform-settings.ts'
import { ServiceError } from '../errors.ts'
import { memoizeByText } from '../cache/memoize.ts'
import { sendContinue } from './expect-continue.ts'
import type { Http } from './http.ts'
import { tunnelledOf } from './tunnelled.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose limits the call counts against; undefined without a valid credential. */
    callerKey?: string
    /** What is in memory of the body. */
    heldBody?: Hold
  }
  interface FastifyContextConfig {
    /** Bodies of this media type are read by the route, as they arrive. */
    streamedType?: string
  }
}

type BodiesConfig = Pick<PlatformConfig, 'bodiesInFlightBytes' | 'bodiesInFlightPerCallerBytes'>

/** Fractions of the total. Callers without a credential leave the rest to those with one. */
const shareOfAddress = 1 / 2
const shareWithoutCredential = 1 / 4
const shareOfAddressWithoutCredential = 1 / 16

/** Register it as the last hook before parsing: adding a `data` listener makes the body flow. */
export function boundBodiesInFlight(http: Http, config: BodiesConfig): void {
  http.decorateRequest('callerKey')
  http.decorateRequest('heldBody')
  const budget = createByteBudget()
  const sharesOf = bodyShares(config)
  http.addHook('preParsing', (request, reply, payload, done) => {
    const { headers } = request
    // A client that hung up during authentication sends nothing more, and `close` has already been emitted.
    if ((headers['content-length'] ?? headers['transfer-encoding']) === undefined || reply.raw.closed) {
      done()
      return
    }
    const hold = budget.hold(sharesOf(request))
    reply.raw.once('close', hold.release)
    request.heldBody = hold
    if (isStreamed(request)) {
      done()
      return
    }
    sendContinue(request.raw)
    payload.on('data', (chunk: Buffer) => {
      if (hold.grow(chunk.length)) return
      hold.release()
      payload.removeAllListeners('data')
      // The request was refused already and nothing reads the body.
      if (payload.listenerCount('error') === 0) return
      request.isBodyCutShort = true
      payload.emit('error', new ServiceError('rate_limited', { retryAfterSeconds: 1, message: noRoom }))
    })
    done()
  })
}

export function isStreamed({ headers, routeOptions: { config } }: FastifyRequest): boolean {
  if (config.isForwarded) return true
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  return config.streamedType !== undefined && type.trim().toLowerCase() === config.streamedType
}

export const noRoom = 'Too many request bodies are being received. Wait for the time in Retry-After, then try again.'

function bodyShares(config: BodiesConfig): (request: FastifyRequest) => Share[] {
  const { bodiesInFlightBytes: maxBytes, bodiesInFlightPerCallerBytes: perCaller } = config
  const blockOf = memoizeByText((ip) => addressBlock(ip).narrow)
  const all = { key: 'all', maxBytes }
  const withoutCredential = { key: 'without credential', maxBytes: maxBytes * shareWithoutCredential }
  return ({ callerKey, ip, raw }) => {
    const address = blockOf(tunnelledOf(raw)?.address ?? ip)
    if (callerKey === undefined) {
      const own = { key: `without credential ${address}`, maxBytes: maxBytes * shareOfAddressWithoutCredential }
      return [all, withoutCredential, own]
    }
    const ofCaller = { key: callerKey, maxBytes: perCaller }
    return [all, ofCaller, { key: `address ${address}`, maxBytes: maxBytes * shareOfAddress }]
  }
}
