/**
 * Request bodies that arrive as a stream: a line of JSON with the call, then the bytes of the body. They are passed on as
 * they arrive, in bounded memory. A body that has to be inspected, or known before the call is signed, is read first.
 */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { ProxyBody } from '@sallyport/protocol/proxy'
import { streamedCallType } from '@sallyport/protocol/streamed-call'
import type { FastifyRequest } from 'fastify'
import type { BodyStream } from '../platform/egress/exchange.ts'
import { ServiceError } from '../platform/errors.ts'
import { letBodyTakeLonger } from '../platform/http/arrival-time.ts'
import { isStreamed, noRoom } from '../platform/http/bodies-in-flight.ts'
import { jsonParser } from '../platform/http/json-bodies.ts'
import type { Http } from '../platform/http/http.ts'
import type { Hold } from '../platform/limits/byte-budget.ts'

declare module 'fastify' {
  interface FastifyRequest {
    upload?: Upload
  }
}

export interface Upload extends BodyStream {
  /** When its last byte arrived. */
  endedAt: number | undefined
  /** All of it. Throws `body_not_inspectable` if it is longer. */
  whole: (maxBytes: number) => Promise<Buffer>
}

const maxLineBytes = 65_536
const newline = 0x0a
/** A Buffer object takes about 100 bytes, and a body may arrive byte by byte. */
const mostParts = 1024

/** Parses the line. The body is left to the route, as `request.upload`. */
export function readStreamedCalls(http: Http, { proxyIdleSeconds }: { proxyIdleSeconds: number }): void {
  const parse = jsonParser(http)
  http.decorateRequest('upload')
  http.addContentTypeParser(streamedCallType, (request, payload, done) => {
    if (!isStreamed(request)) {
      done(new ServiceError('unsupported_media_type'))
      return
    }
    letBodyTakeLonger(request.raw)
    request.isBodyCutShort = true
    payload.once('end', () => (request.isBodyCutShort = false))
    endWithConnection(request.raw)
    const next = reader(payload, proxyIdleSeconds * 1000)
    request.readRest = async () => {
      while (await next());
    }
    readLine(next).then(({ line, rest }) => {
      const announced = request.headers['content-length']
      const length = announced === undefined ? undefined : Number(announced) - line.length - 1
      request.upload = createUpload({ next, rest, length, idleMs: proxyIdleSeconds * 1000, hold: request.heldBody })
      parse(request, line, done)
    }, done)
  })
}

/** Node does not end a request that was answered before its end. */
function endWithConnection(request: IncomingMessage): void {
  const { socket } = request
  const end = () => request.destroy()
  socket.once('close', end)
  request.once('close', () => socket.off('close', end))
}

/** Throws if the call has members that a streamed body has no use for, or that only a streamed body has. */
export function uploadOf({ body: call, upload, headers }: FastifyRequest<{ Body: ProxyBody }>): Upload | undefined {
  if (!upload) {
    if (call.content_length !== undefined) throw notWith('content_length', 'Only a streamed body has a content_length')
    return undefined
  }
  const other = (['body', 'body_base64', 'dry_run'] as const).find((name) => call[name] !== undefined)
  if (other !== undefined) throw notWith(other, `A call with a streamed body has no "${other}"`)
  // It would have to be known whole before the key can be claimed.
  if (headers['idempotency-key'] !== undefined) {
    throw notWith('Idempotency-Key', 'A call with a streamed body can not have an Idempotency-Key')
  }
  if (call.content_length === undefined) return upload
  if (call.content_length !== (upload.length ?? call.content_length)) throw wrongLength()
  upload.length = call.content_length
  return upload
}

function notWith(field: string, what: string): ServiceError {
  return new ServiceError('invalid_field', { field, message: `${what}. Omit it.` })
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

async function readLine(next: Next): Promise<{ line: Buffer; rest: Buffer }> {
  const parts: Buffer[] = []
  let bytes = 0
  for (;;) {
    const chunk = await next()
    const at = chunk?.indexOf(newline) ?? -1
    if (chunk && at !== -1) {
      const line = Buffer.concat([...parts, chunk.subarray(0, at)])
      if (line.length <= maxLineBytes) return { line, rest: chunk.subarray(at + 1) }
    }
    bytes += chunk?.length ?? 0
    if (chunk && bytes <= maxLineBytes) parts.push(chunk)
    else {
      const message = `The body does not begin with a line of JSON of at most ${maxLineBytes} bytes.`
      throw new ServiceError('invalid_json', { message })
    }
  }
}

function createUpload(given: {
  next: Next
  rest: Buffer
  length: number | undefined
  idleMs: number
  hold: Hold | undefined
}): Upload {
  const { next, rest, hold } = given
  const upload: Upload = {
    length: given.length,
    idleMs: given.idleMs,
    endedAt: undefined,
    chunks: readChunks(),
    whole: async (maxBytes) => {
      const tooLong = new ServiceError('body_not_inspectable', { field: 'body' })
      if ((upload.length ?? 0) > maxBytes) throw tooLong
      let bytes = 0
      const joined: Buffer[] = []
      let parts: Buffer[] = []
      for await (const chunk of upload.chunks) {
        bytes += chunk.length
        if (bytes > maxBytes) throw tooLong
        if (hold?.grow(chunk.length) === false) {
          throw new ServiceError('rate_limited', { retryAfterSeconds: 1, message: noRoom })
        }
        if (parts.push(chunk) < mostParts) continue
        joined.push(Buffer.concat(parts))
        parts = []
      }
      return Buffer.concat([...joined, ...parts])
    },
  }
  async function* readChunks(): AsyncGenerator<Buffer> {
    let bytes = 0
    for (let chunk: Buffer | undefined = rest; chunk; chunk = await next()) {
      bytes += chunk.length
      if (bytes > (upload.length ?? Infinity)) throw wrongLength()
      if (chunk.length > 0) yield chunk
    }
    if (bytes !== (upload.length ?? bytes)) throw wrongLength()
    upload.endedAt = performance.now()
  }
  return upload
}

function wrongLength(): ServiceError {
  const message = '"content_length" is not the length of the body. Correct it, or omit it.'
  return new ServiceError('invalid_field', { field: 'content_length', message })
}
