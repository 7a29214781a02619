/**
 * One request and its response, with time limits. The request is sent at most once: it is retried on another socket, once,
 * only if nothing of it was written to the first, and nothing was read of a streamed body.
 */
import { STATUS_CODES } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import './cut-off-streams.ts'
import { watchDeadline } from './deadlines.ts'
import { failureOf, hasEndedSession, isOurFault, notDecodable, timedOut, tooLarge, unreachable } from './failures.ts'
import { areTooMany, isOddlyTransferred, pairsOf, sendable } from './header-lists.ts'
import type { HeaderPairs } from './header-lists.ts'
import type { SharedSockets } from './pools.ts'
import { ServiceError } from '../errors.ts'
import { nextSlice } from '../event-loop/time-slices.ts'

export interface EgressLimits {
  /** From the call until the connection is open: DNS, TCP and TLS. At most 10 s. */
  connectMs: number
  /** From then, or from the last byte of a streamed request body, until the response headers. */
  firstByteMs: number
  /** From the call, or from the last byte of a streamed request body, until the last byte of the response. */
  wholeMs: number
  /** Of the response body; Infinity for a streamed one. */
  maxBytes: number
  /** For a buffered response: called for the bytes that arrive. Throws if there is no memory left for them. */
  takeRoom?: ((bytes: number) => void) | undefined
}

/** A request body that is read as it is sent. */
export interface BodyStream {
  chunks: AsyncIterable<Buffer>
  /** Undefined: sent without a Content-Length. */
  length: number | undefined
  /** How long the upstream can stop reading. */
  idleMs: number
}

export interface Exchange {
  url: URL
  method: string
  headers: HeaderPairs
  body: Buffer | undefined
  /** Instead of `body`. */
  bodyStream?: BodyStream | undefined
  limits: EgressLimits
  signal?: AbortSignal | undefined
  /** The upstream may take over the connection for WebSocket messages. */
  isHandshake?: boolean | undefined
  /** Whether a request that the upstream reports as not processed (RFC 9113 §8.7) may be resent. Not if every try is recorded. */
  maySendAgain?: boolean
}

export interface Head {
  status: number
  /** The standard reason phrase. undici keeps only the last piece of the upstream's own if it arrives in several. */
  statusText: string
  headers: HeaderPairs
}

export type Flow = Pick<Dispatcher.DispatchController, 'pause' | 'resume'>

/** Receives the response. Nothing is called after `end` or `fail`. */
export interface Receiver {
  head: (head: Head, flow: Flow) => void
  chunk: (chunk: Buffer, flow: Flow) => void
  end: (trailers: HeaderPairs) => void
  fail: (error: Error) => void
  /** Instead of `head` and all that follows: the upstream has switched to WebSocket. */
  upgraded?: (head: Head, socket: Duplex) => void
}

/**
 * A fast upstream sends megabytes in one turn of the event loop. After this many bytes, reading waits for a slice
 * (time-slices.ts).
 */
const bytesPerTurn = 262_144

/** 1xx responses such as early hints. A handful is usual. */
const maxInterimAnswers = 16

/** Returns a function that aborts the exchange. */
export function exchange(shared: SharedSockets, call: Exchange, receiver: Receiver): (reason: Error) => void {
  const { limits, signal, url, bodyStream } = call
  const { host } = url
  const startedAt = performance.now()
  let stage: 'connection' | 'request' | 'answer' | 'end' = 'connection'
  let stageEndsAt = startedAt + limits.connectMs
  let endsAt = bodyStream ? Infinity : startedAt + limits.wholeMs
  /** Of a streamed request body: when the upstream must have taken the last chunk, even if it has begun to answer. */
  let takenAt = Infinity
  let controller: Dispatcher.DispatchController | undefined
  let failure: Error | undefined
  let isOver = false
  let isSent = false
  let isSecondTry = false
  let interimAnswers = 0
  let bytes = 0
  let bytesThisTurn = 0
  let isWaiting = false

  const flow: Flow = {
    pause: () => controller?.pause(),
    resume: () => {
      if (!isWaiting) controller?.resume()
    },
  }
  const waitForTurn = async () => {
    isWaiting = true
    flow.pause()
    await nextSlice()
    isWaiting = false
    bytesThisTurn = 0
    // A reader whose buffer is full pauses it again at the next chunk.
    if (!isOver) flow.resume()
  }

  const finish = () => {
    isOver = true
    letDeadlineGo()
    signal?.removeEventListener('abort', onAbort)
    shared.leave()
  }
  const fail = (error: Error) => {
    if (isOver) return
    failure = error
    finish()
    // Before the request has a socket there is nothing to abort: `onRequestStart` will see the failure.
    controller?.abort(error)
    receiver.fail(error)
  }
  const onAbort = () => {
    fail(signal?.reason as Error)
  }

  const check = (now: number) => {
    if (isOver || now < Math.min(stageEndsAt, endsAt, takenAt)) return
    // The connection may be dead, and over HTTP/2 the next call would use it too.
    if (controller) shared.retire()
    const ended = endsAt <= stageEndsAt ? 'end' : stage
    fail(timedOut(host, now >= takenAt ? 'request' : ended))
  }
  const letDeadlineGo = watchDeadline(check)

  /** The time that the body's source takes is the source's to limit. */
  const sending = async function* ({ chunks, idleMs }: BodyStream): AsyncGenerator<Buffer> {
    isSent = true
    stageEndsAt = Infinity
    for await (const chunk of chunks) {
      if (isOver) break
      takenAt = performance.now() + idleMs
      yield chunk
      takenAt = Infinity
    }
    // Cut off: it must not look complete to the upstream.
    if (isOver) throw new Error('The call has ended')
    const now = performance.now()
    endsAt = now + limits.wholeMs
    if (stage !== 'request') return
    stage = 'answer'
    stageEndsAt = now + limits.firstByteMs
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      if (isSent && !call.maySendAgain) failure ??= unreachable(host, 'refused after it was sent')
      controller = started
      if (failure) {
        started.abort(failure)
        return
      }
      stage = bodyStream ? 'request' : 'answer'
      stageEndsAt = performance.now() + (bodyStream?.idleMs ?? limits.firstByteMs)
    },
    onRequestSent() {
      isSent = true
    },
    onResponseStart(started, status) {
      if (status < 200) {
        interimAnswers++
        if (interimAnswers > maxInterimAnswers) fail(unreachable(host, 'too many interim answers'))
        return
      }
      const headers = pairsOf(started.rawHeaders)
      if (areTooMany(headers)) {
        fail(tooLarge(host, 'headers'))
        return
      }
      if (isOddlyTransferred(headers)) {
        fail(notDecodable(host, 'unknown transfer encoding'))
        return
      }
      // It may answer before it has read the whole request.
      stage = 'end'
      stageEndsAt = Infinity
      receiver.head({ status, statusText: STATUS_CODES[status] ?? '', headers }, flow)
    },
    onRequestUpgrade(started, status, _headers, socket) {
      // The library has removed its own.
      socket.on('error', () => undefined)
      const headers = pairsOf(started.rawHeaders)
      if (isOver || !receiver.upgraded) socket.destroy()
      else if (areTooMany(headers)) {
        socket.destroy()
        fail(tooLarge(host, 'headers'))
      } else {
        finish()
        receiver.upgraded({ status, statusText: STATUS_CODES[status] ?? '', headers }, socket)
      }
    },
    onResponseData(_controller, chunk) {
      if (isOver) return
      bytes += chunk.length
      if (bytes > limits.maxBytes) {
        fail(tooLarge(host, `more than ${limits.maxBytes} bytes`))
        return
      }
      receiver.chunk(chunk, flow)
      bytesThisTurn += chunk.length
      if (bytesThisTurn >= bytesPerTurn && !isWaiting) void waitForTurn()
    },
    onResponseEnd(ended) {
      if (isOver) return
      const trailers = pairsOf(ended.rawTrailers)
      if (areTooMany(trailers)) {
        fail(tooLarge(host, 'trailers'))
        return
      }
      finish()
      receiver.end(trailers)
    },
    onResponseError(_controller, error) {
      if (isOver) return
      if (hasEndedSession(error)) shared.retire()
      const isUntried = !isSent && !isSecondTry && !(error instanceof ServiceError)
      if (isOurFault(error)) {
        // The pool would wait forever for the socket that it assigned to this request.
        shared.retire()
        fail(failureOf(host, error))
      } else if (isUntried) {
        // An idle socket that breaks fails the requests that wait for it.
        isSecondTry = true
        // Not while undici is cleaning up.
        queueMicrotask(dispatch)
      } else fail(failureOf(host, error))
    },
  }
  const request = {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: call.method,
    ...(call.isHandshake && { upgrade: 'websocket' }),
    headers: sendable(call.headers, bodyStream?.length),
    // An iterable is not read before there is a socket. undici's types omit it.
    body: bodyStream ? (sending(bodyStream) as unknown as Readable) : (call.body ?? null),
  }
  const dispatch = () => {
    if (isOver) return
    const negotiated = shared.negotiated()
    if (negotiated) {
      void negotiated.then(dispatch)
      return
    }
    try {
      shared.dispatch(request, handler)
    } catch (error) {
      fail(failureOf(host, error))
    }
  }

  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort)
  dispatch()
  return fail
}
