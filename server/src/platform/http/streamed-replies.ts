/** Sends what another server answers, with its status, headers and trailers, as it arrives. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyReply } from 'fastify'
import { cutShort } from './error-replies.ts'
import { requestMembers } from './response-log.ts'
import { removeSecurityHeaders } from './security-headers.ts'

type HeaderList = [name: string, value: string][]

/** It must be read to its end, or given up. */
export interface StreamedReply {
  status: number
  statusText: string
  headers: HeaderList
  /** A buffer is sent in one write. */
  body: AsyncIterable<Buffer> | Buffer
  /** Known once the body has ended. */
  trailers: () => HeaderList
  /** Aborted once nothing more of it may be sent, not even bytes that are buffered. */
  signal: AbortSignal
  /** The client is gone. Has no effect once the reply was read to its end. */
  giveUp: () => void
}

/** Sent by the framework like every other answer, so that each hook, header rule and limit applies to it too. */
export async function sendStream(reply: FastifyReply, answer: StreamedReply): Promise<FastifyReply> {
  const { raw, request } = reply
  const { statusText, headers } = answer
  const isHttp2 = isOverHttp2(reply)
  // HTTP/2 has no other statuses.
  const status = isHttp2 && answer.status > 599 ? 502 : answer.status
  if (isAtOnce(reply, answer)) {
    raw.statusCode = status
    if (!isHttp2) raw.statusMessage = statusText
    removeSecurityHeaders(reply)
    setHeaders(reply, headers)
    return reply.send(answer.body)
  }
  // The framework does not wait for the end of an answer without a body. Here that end is on record first.
  const isEmpty = status === 204
  const source = Buffer.isBuffer(answer.body) ? Readable.from([answer.body]) : answer.body
  if (isEmpty) await buffer(source)
  if (isEmpty && request.isBodyCutShort) reply.header('connection', 'close')
  const chunks = request.isBodyCutShort && !isEmpty ? cutShort(request, reply, source) : source
  const body = isEmpty ? undefined : readableOf(reply, answer, chunks)
  // Not by `reply.code`, which refuses what is no status of HTTP.
  raw.statusCode = status
  removeSecurityHeaders(reply)
  setHeaders(reply, headers)
  // The framework has set all headers by then. From here on a failure can only cut the answer short.
  raw.once('pipe', () => {
    if (isHttp2) raw.writeHead(status)
    else raw.writeHead(status, statusText)
    flushSoon(raw, headers)
  })
  // Immediately: a client that does not read must not keep the call from ending with its grant.
  answer.signal.addEventListener('abort', () => raw.destroy())
  onceClosed(raw, () => {
    if (!raw.writableFinished) {
      request.log.info({ ...requestMembers(request), err: answer.signal.reason }, 'a streamed response was cut off')
    }
    // Even if nobody has begun to read it.
    answer.giveUp()
  })
  return reply.send(body)
}

/** The framework would give an answer without a content type one. */
function isAtOnce({ request }: FastifyReply, { body, headers, trailers }: StreamedReply): boolean {
  const hasType = headers.some(([name]) => name === 'content-type')
  return Buffer.isBuffer(body) && hasType && !request.isBodyCutShort && trailers().length === 0
}

/** A `Readable` reads one chunk ahead. Here it waits: a call is not over before the client has taken the last chunk. */
function readableOf(reply: FastifyReply, answer: StreamedReply, body: AsyncIterable<Buffer>): Readable {
  const { raw } = reply
  let proceed = (): void => undefined
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      yield chunk
      if (readable.isPaused()) await new Promise<void>((resolve) => (proceed = resolve))
    }
    const trailers = answer.trailers()
    raw.addTrailers(isOverHttp2(reply) ? joined(trailers) : trailers)
  }
  const readable: Readable = Readable.from(chunks()).on('resume', () => {
    proceed()
  })
  onceClosed(raw, () => {
    proceed()
    readable.destroy()
  })
  return readable
}

function isOverHttp2({ request }: FastifyReply): boolean {
  return request.raw.httpVersionMajor === 2
}

function joined(list: HeaderList): Record<string, string> {
  const groups = Map.groupBy(list, ([name]) => name)
  return Object.fromEntries([...groups].map(([name, all]) => [name, all.map(([, value]) => value).join(', ')]))
}

/** The upstream's headers replace defaults of the same name. An `onSend` hook still has the last word. */
function setHeaders(reply: FastifyReply, headers: HeaderList): void {
  for (const [name, values] of Map.groupBy(headers, ([key]) => key)) {
    const ours = name === 'vary' ? [reply.getHeader(name) ?? []].flat().map(String) : []
    const all = [...ours, ...values.map(([, value]) => value)]
    reply.header(name, all.length === 1 ? all[0] : all)
  }
}

/**
 * A client that waits for the first event of a stream learns immediately that it has begun. Node flushes headers as
 * UTF-8, so headers with Latin-1 bytes have to wait for the body.
 */
function flushSoon(raw: FastifyReply['raw'], headers: HeaderList): void {
  if (headers.some(([, value]) => /[^\x20-\x7e\t]/.test(value))) return
  setImmediate(() => {
    if (!raw.writableEnded) raw.flushHeaders()
  })
}

/**
 * Not a WeakMap: until the next major collection it would keep each response alive, because the callbacks refer to it. All
 * of the call would then be promoted to the old generation.
 */
const onClose = Symbol('called when the response is closed')

type Response = FastifyReply['raw'] & {
  [onClose]?: (() => void)[]
  /** Over HTTP/2, where the response itself does not say whether it is closed. */
  stream?: { destroyed: boolean }
}

/** All share one listener: Node warns of more than ten. */
export function onceClosed(raw: Response, then: () => void): void {
  const known = raw[onClose]
  if (raw.stream ? raw.stream.destroyed : raw.closed) then()
  else if (known) known.push(then)
  else {
    const all = (raw[onClose] = [then])
    raw.once('close', () => {
      for (const one of all) one()
    })
  }
}
