/**
 * A streamed answer: the upstream's own status, headers and body, redacted, in constant memory. Headers that would act
 * on our origin get a prefix (`answer-headers.ts`).
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import { decodeSmallWhole, decodeStream } from '../platform/egress/decoding.ts'
import { ServiceError } from '../platform/errors.ts'
import type { StreamedReply } from '../platform/http/streamed-replies.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { contentEncodingOf, sendable, streamedHeaders } from './answer-headers.ts'
import type { HeaderNaming } from './answer-headers.ts'
import type { Call } from './call.ts'
import type { Flight, Seen } from './flight.ts'
import type { HeaderList, StreamedResponse } from './upstream.ts'

interface StreamedCall {
  /** As the agent asked for it, and as it was sent last, after redirects. */
  first: Call
  last: Call
  flight: Flight
  redactor: Redactor
  naming: HeaderNaming
}

export async function streamedAnswer(call: StreamedCall, response: StreamedResponse): Promise<StreamedReply> {
  const { first, last, flight, redactor, naming } = call
  const hasBody = last.method !== 'HEAD' && ![204, 304].includes(response.status)
  const contentEncoding = contentEncodingOf(response.headers)
  // An answer without a body may keep its length, unless compressed: a compression ratio can reveal the content.
  const keepsLength = !hasBody && contentEncoding === ''
  const { host, url } = last.destination
  const named = { naming, url }
  const answer = {
    status: response.status,
    statusText: sendable(redactor.text(response.statusText)),
    headers: [
      ...streamedHeaders(response.headers, redactor, { ...named, keepsLength }),
      ['x-sallyport-audit-id', first.auditId],
      ['x-sallyport-upstream', '1'],
      ...(first.droppedHeaders.length > 0
        ? [['x-sallyport-dropped-headers', first.droppedHeaders.join(', ')] satisfies HeaderList[number]]
        : []),
      ...sandboxedFor(naming),
    ],
    trailers: () => streamedHeaders(response.trailers(), redactor, named),
    signal: flight.signal,
    giveUp: () => void flight.givenUp(),
  } satisfies Omit<StreamedReply, 'body'>
  const seen = (bytes: number): Seen => ({ status: response.status, bytes, redactions: redactor.count() })
  const arrived = hasBody ? await arrivedOf(response) : undefined
  const short = arrived && decodeSmallWhole(arrived, contentEncoding, host)
  if (short) {
    const body = await redactor.body(short)
    flight.signal.throwIfAborted()
    await flight.answered(seen(body.length))
    return { ...answer, body }
  }
  const received = withIdleTimeout(arrived ? onlyChunk(arrived) : response.body, flight, first.idleMs)
  const decoded = hasBody ? decodeStream(received, contentEncoding, host) : received
  return { ...answer, body: forwardStream(redacted(decoded, redactor), flight, seen) }
}

/** Most answers are short and arrive at once. To send them whole costs a fraction of streaming them. */
async function arrivedOf({ arrived }: StreamedResponse): Promise<Buffer | undefined> {
  const first = arrived?.()
  if (first || !arrived) return first
  // Over HTTP/2 the body comes in a tick of its own.
  await nextTick()
  return arrived()
}

async function* onlyChunk(chunk: Buffer): AsyncGenerator<Buffer> {
  yield chunk
}

/** The answer comes from our origin, except in a tunnel. */
export function sandboxedFor(naming: HeaderNaming): HeaderList {
  if (naming.for === 'tunnel') return []
  return [
    ['x-content-type-options', 'nosniff'],
    ['content-security-policy', 'sandbox'],
    ...(naming.for === 'base_url'
      ? [['cross-origin-resource-policy', 'same-origin'] satisfies HeaderList[number]]
      : []),
  ]
}

/** Longer chunks are redacted in slices, or other calls would wait. */
const maxSliceBytes = 65_536

async function* redacted(body: AsyncIterable<Uint8Array>, redactor: Redactor): AsyncGenerator<Buffer> {
  const stream = redactor.stream()
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += maxSliceBytes) {
      const released = stream.push(chunk.subarray(at, at + maxSliceBytes))
      if (released.length > 0) yield released
    }
    // Small chunks of the same tick are then read as one: each costs as much as a large one.
    await nextTick()
  }
  const rest = stream.end()
  if (rest.length > 0) yield rest
}

/** Forwards the body of a streamed answer to the caller, and records the outcome when it ends or breaks off. */
async function* forwardStream(
  body: AsyncIterable<Buffer>,
  flight: Flight,
  seen: (bytes: number) => Seen,
): AsyncGenerator<Buffer> {
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      yield chunk
      flight.signal.throwIfAborted()
    }
    await flight.answered(seen(bytes))
  } catch (error) {
    await flight.failed(error as Error)
    throw error
  } finally {
    // No effect if it ended above. Otherwise the reader has closed the stream.
    await flight.givenUp()
  }
}

/**
 * Aborts the call if the upstream sends nothing for that long. Applied to the upstream's own bytes, because the
 * redactor may hold some of them back for a while.
 */
async function* withIdleTimeout(
  body: AsyncIterable<Uint8Array>,
  { abort }: Pick<Flight, 'abort'>,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  // Backpressure: while the caller has not taken the last chunk, the upstream is not read.
  let isReading = true
  const idleTimer = setTimeout(() => {
    if (isReading) abort(new ServiceError('upstream_timeout'))
  }, idleMs)
  try {
    for await (const chunk of body) {
      isReading = false
      yield chunk
      isReading = true
      idleTimer.refresh()
    }
  } finally {
    clearTimeout(idleTimer)
  }
}
