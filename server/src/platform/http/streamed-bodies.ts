/**
 * Requests that consist of a line of JSON and any number of bytes. The line is the body that the route's schema describes;
 * the bytes are left to the route, as `request.streamedBody`.
 */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { BodyStream } from '../egress/exchange.ts'
import { ServiceError } from '../errors.ts'
import { isContinueHeld, sendContinue } from './expect-continue.ts'
import { letBodyTakeLonger } from './arrival-time.ts'
import { isStreamed, noRoom } from './bodies-in-flight.ts'
import { jsonParser } from './json-bodies.ts'
import type { Http } from './http.ts'
import type { Hold } from '../limits/byte-budget.ts'

declare module 'fastify' {
  interface FastifyRequest {
    streamedBody?: StreamedBody
  }
}

export interface StreamedBody extends BodyStream {
  /** When its last byte arrived. */
  endedAt: number | undefined
  /** Call it if the body is passed on: from then on only pauses are limited. */
  mayTakeLonger: () => void
  /** Reads all of it. Throws `tooLong` if it is longer; default: `body_not_inspectable`. */
  whole: (maxBytes: number, tooLong?: ServiceError) => Promise<Buffer>
}

const maxLineBytes = 65_536
const newline = 0x0a
/** A Buffer object takes about 100 bytes, and a body may arrive byte by byte. */
const mostParts = 1024

/** For routes whose `streamedType` is this media type. `idleMs`: how long the bytes may stop arriving. */
export function readStreamedBodies(http: Http, mediaType: string, idleMs: number): void {
  const parse = jsonParser(http)
  http.decorateRequest('streamedBody')
  http.addContentTypeParser(mediaType, (request, payload, done) => {
    if (!isStreamed(request)) {
      done(new ServiceError('unsupported_media_type'))
      return
    }
    const next = readInPieces(request, payload, idleMs)
    readLine(next, request.heldBody).then(({ line, rest }) => {
      const announced = announcedLength(request)
      const length = announced === undefined ? undefined : announced - line.length - 1
      request.streamedBody = createStreamedBody(request, { next, rest, length, idleMs })
      parse(request, line, done)
    }, done)
  })
}

/** All of a forwarded request's body. Undefined if it has none. */
export function forwardedBody(request: FastifyRequest, idleMs: number): StreamedBody | undefined {
  const length = announcedLength(request)
  const isChunked = request.headers['transfer-encoding'] !== undefined || isOpenHttp2(request.raw)
  if (length === 0 || (length === undefined && !isChunked)) return undefined
  const next = readInPieces(request, request.raw, idleMs)
  return createStreamedBody(request, { next, rest: Buffer.alloc(0), length, idleMs })
}

function announcedLength({ headers }: FastifyRequest): number | undefined {
  const announced = headers['content-length']
  return announced === undefined ? undefined : Number(announced)
}

/** Over HTTP/2 a body need not be announced: the stream is open until it has ended. */
function isOpenHttp2(request: IncomingMessage & { stream?: { endAfterHeaders: boolean } }): boolean {
  return request.httpVersionMajor === 2 && request.stream?.endAfterHeaders === false
}

function readInPieces(request: FastifyRequest, payload: Readable, idleMs: number): Next {
  request.isBodyCutShort = true
  payload.once('end', () => (request.isBodyCutShort = false))
  endWithConnection(request.raw)
  const next = reader(payload, idleMs)
  request.readRest = async () => {
    while (!isContinueHeld(request.raw) && (await next()));
  }
  return () => {
    sendContinue(request.raw)
    return next()
  }
}

/** Node does not end a request that was answered before all of it was read. */
function endWithConnection(request: IncomingMessage): void {
  const { socket } = request
  const end = () => request.destroy()
  socket.once('close', end)
  request.once('close', () => socket.off('close', end))
}

type Next = () => Promise<Buffer | undefined>

/** Resolves to undefined at the end. */
function reader(payload: Readable, idleMs: number): Next {
  const chunks = payload.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>
  return () =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const message = 'The body stopped arriving. Send it again, without long pauses.'
        reject(new ServiceError('request_timeout', { message }))
      }, idleMs)
      chunks
        .next()
        .finally(() => {
          clearTimeout(timer)
        })
        .then(
          ({ value }) => {
            resolve(value)
          },
          (cause: unknown) => {
            reject(new ServiceError('invalid_http', { message: 'The body ended early.', cause }))
          },
        )
    })
}

async function readLine(next: Next, hold: Hold | undefined): Promise<{ line: Buffer; rest: Buffer }> {
  const pieces = createPieces(hold)
  for (;;) {
    const chunk = await next()
    const at = chunk?.indexOf(newline) ?? -1
    const part = at === -1 ? chunk : chunk?.subarray(0, at)
    if (!part || pieces.length() + part.length > maxLineBytes) {
      const message = `The body does not begin with a line of JSON of at most ${maxLineBytes} bytes.`
      throw new ServiceError('invalid_json', { message })
    }
    pieces.add(part)
    if (chunk && at !== -1) return { line: pieces.join(), rest: chunk.subarray(at + 1) }
  }
}

/** What is kept of a body, in bounded memory. */
function createPieces(hold: Hold | undefined) {
  const joined: Buffer[] = []
  let parts: Buffer[] = []
  let bytes = 0
  return {
    add: (chunk: Buffer) => {
      if (hold?.grow(chunk.length) === false) {
        throw new ServiceError('rate_limited', { retryAfterSeconds: 1, message: noRoom })
      }
      bytes += chunk.length
      if (parts.push(chunk) < mostParts) return
      joined.push(Buffer.concat(parts))
      parts = []
    },
    length: () => bytes,
    join: () => Buffer.concat([...joined, ...parts]),
  }
}

function createStreamedBody(
  request: FastifyRequest,
  given: { next: Next; rest: Buffer; length: number | undefined; idleMs: number },
): StreamedBody {
  const { next, rest } = given
  const hold = request.heldBody
  const body: StreamedBody = {
    length: given.length,
    idleMs: given.idleMs,
    endedAt: undefined,
    mayTakeLonger: () => {
      letBodyTakeLonger(request.raw)
    },
    chunks: readChunks(),
    whole: async (maxBytes, tooLong = new ServiceError('body_not_inspectable', { field: 'body' })) => {
      if ((body.length ?? 0) > maxBytes) throw tooLong
      const pieces = createPieces(hold)
      for await (const chunk of body.chunks) {
        if (pieces.length() + chunk.length > maxBytes) throw tooLong
        pieces.add(chunk)
      }
      return pieces.join()
    },
  }
  async function* readChunks(): AsyncGenerator<Buffer> {
    let bytes = 0
    for (let chunk: Buffer | undefined = rest; chunk; chunk = await next()) {
      bytes += chunk.length
      if (bytes > (body.length ?? Infinity)) throw wrongLength()
      if (chunk.length > 0) yield chunk
    }
    if (bytes !== (body.length ?? bytes)) throw wrongLength()
    body.endedAt = performance.now()
  }
  return body
}

export function wrongLength(): ServiceError {
  const message = '"content_length" is not the length of the body. Correct it, or omit it.'
  return new ServiceError('invalid_field', { field: 'content_length', message })
}
