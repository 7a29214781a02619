/** One request and its answer over a pool of judged connections: streamed, as it came, bounded in time and size. */
import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { failureOf, timedOut, tooLarge } from './failures.ts'

export interface EgressLimits {
  /** From the call to a connection that can be written to: name, TCP and TLS. At most 10 s. */
  connectMs: number
  /** From then to the answer's headers. */
  firstByteMs: number
  /** From the call to the last byte of the answer. */
  wholeMs: number
  /** Of the answer's body; Infinity where the reader takes it as it comes. */
  maxBytes: number
}

export interface Exchange {
  url: URL
  method: string
  headers: [string, string][]
  body: Buffer | undefined
  limits: EgressLimits
  signal?: AbortSignal | undefined
}

export interface Answer {
  status: number
  statusText: string
  headers: [string, string][]
  body: Readable
  /** What followed the body; empty until it was read to its end. */
  trailers: () => [string, string][]
}

export function exchange(pool: Dispatcher, { url, method, headers, body, limits, signal }: Exchange): Promise<Answer> {
  const { host } = url
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let answer: Readable | undefined
    let failure: Error | undefined
    let bytes = 0
    let trailers: [string, string][] = []

    const fail = (error: Error) => {
      if (failure) return
      failure = error
      release()
      // Before the request is on a socket there is nothing to abort; `onRequestStart` sees the failure then.
      controller?.abort(error)
      answer?.destroy(error)
      reject(error)
    }
    const failAfter = (ms: number, waitedFor: string) =>
      setTimeout(() => {
        fail(timedOut(host, waitedFor))
      }, ms)
    const whole = failAfter(limits.wholeMs, 'end')
    let stage = failAfter(limits.connectMs, 'connection')
    const onAbort = () => {
      fail(signal?.reason as Error)
    }
    const release = () => {
      clearTimeout(whole)
      clearTimeout(stage)
      signal?.removeEventListener('abort', onAbort)
    }
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) {
      onAbort()
      return
    }

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        if (failure) {
          started.abort(failure)
          return
        }
        clearTimeout(stage)
        stage = failAfter(limits.firstByteMs, 'answer')
      },
      onResponseStart(started, status) {
        if (status < 200) return
        clearTimeout(stage)
        answer = new Readable({
          read: () => {
            started.resume()
          },
          // Whoever stops reading gives the socket back.
          destroy: (error, done) => {
            if (!answer?.readableEnded) fail(error ?? new Error('The reader went away'))
            done(error)
          },
        })
        // The failure is thrown to the reader; one that never reads must not end the process.
        answer.on('error', () => undefined)
        resolve({
          ...{ status, statusText: STATUS_CODES[status] ?? '', headers: pairs(started.rawHeaders) },
          ...{ body: answer, trailers: () => trailers },
        })
      },
      onResponseData(started, chunk) {
        bytes += chunk.length
        if (bytes > limits.maxBytes) fail(tooLarge(host, `more than ${limits.maxBytes} bytes`))
        else if (answer?.push(chunk) === false) started.pause()
      },
      onResponseEnd(ended) {
        release()
        trailers = pairs(ended.rawTrailers)
        // The socket is another's from here on.
        controller = undefined
        answer?.push(null)
      },
      onResponseError(_controller, error) {
        fail(failureOf(host, error))
      },
    }
    try {
      const path = `${url.pathname}${url.search}`
      // undici takes the name that TLS asks for from a host header, so none but the URL's may stand there.
      const sent = headers.filter(([name]) => name.toLowerCase() !== 'host').flat()
      pool.dispatch({ origin: url.origin, path, method, headers: sent, body: body ?? null }, handler)
    } catch (error) {
      fail(failureOf(host, error))
    }
  })
}

/**
 * The headers as they came: order, case and repetition count. Bytes above 127 are Latin-1 (RFC 9110 §5.5).
 * Those of HTTP/2 come as an object, whose names are lower-case and stand once.
 */
function pairs(raw: Dispatcher.DispatchController['rawHeaders']): [string, string][] {
  if (!Array.isArray(raw)) {
    return Object.entries(raw ?? {}).flatMap(([name, value]) =>
      [value ?? []].flat().map((one): [string, string] => [name, one]),
    )
  }
  const flat = raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? ''])
}
