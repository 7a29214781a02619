/**
 * A streamed answer: the upstream's own status, headers and body, redacted, in constant memory. Headers that would act
 * on our origin get a prefix (`answer-headers.ts`).
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import { decodeStream } from '../platform/egress/decoding.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { contentEncodingOf, sendable, streamedHeaders } from './answer-headers.ts'
import type { HeaderNaming } from './answer-headers.ts'
import type { Call } from './call.ts'
import type { HeaderList, StreamedResponse } from './upstream.ts'

export interface StreamedAnswer {
  status: number
  statusText: string
  headers: HeaderList
  body: AsyncIterable<Buffer>
  /** Known once the body has ended. */
  trailers: () => HeaderList
}

/** It must be read to its end, or given up. */
export interface ReadableAnswer extends StreamedAnswer {
  /** Aborted once nothing more of it may be sent, not even bytes that are buffered. */
  signal: AbortSignal
  /** The caller is gone. Has no effect once the answer was read to its end. */
  giveUp: () => void
}

export function streamedAnswer(
  { first, last }: { first: Call; last: Call },
  response: StreamedResponse,
  redactor: Redactor,
  naming: HeaderNaming,
): StreamedAnswer {
  const hasBody = last.method !== 'HEAD' && ![204, 304].includes(response.status)
  const contentEncoding = contentEncodingOf(response.headers)
  const decoded = hasBody ? decodeStream(response.body, contentEncoding, last.destination.host) : response.body
  // An answer without a body may keep its length, unless compressed: a compression ratio can reveal the content.
  const keepsLength = !hasBody && contentEncoding === ''
  const named = { naming, url: last.destination.url }
  return {
    status: response.status,
    statusText: sendable(redactor.text(response.statusText)),
    headers: [
      ...streamedHeaders(response.headers, redactor, { ...named, keepsLength }),
      ['x-sallyport-audit-id', first.auditId],
      ['x-sallyport-upstream', '1'],
      ...(first.droppedHeaders.length > 0
        ? [['x-sallyport-dropped-headers', first.droppedHeaders.join(', ')] satisfies HeaderList[number]]
        : []),
      ['x-content-type-options', 'nosniff'],
      ['content-security-policy', 'sandbox'],
    ],
    body: redacted(decoded, redactor),
    trailers: () => streamedHeaders(response.trailers(), redactor, named),
  }
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
