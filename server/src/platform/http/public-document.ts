/** A text that is the same for everyone: made once, at the first request, then served as bytes that a client may cache. */
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nextSlice } from '../event-loop/time-slices.ts'

export type SendDocument = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** To write a longer one takes a millisecond or more: of these one is sent in a turn of the event loop. */
const longBytes = 32_768

interface Made {
  bytes: Buffer
  etag: string
}

export function publicDocument(contentType: string, make: () => string): SendDocument {
  let made: Made | undefined
  return async ({ headers }, reply) => {
    made ??= withEtag(Buffer.from(make()))
    reply.header('etag', made.etag).header('cache-control', 'public, max-age=300')
    if (isKnown(headers['if-none-match'], made.etag)) return reply.code(304).send()
    if (made.bytes.length > longBytes) await nextSlice()
    return reply.type(contentType).send(made.bytes)
  }
}

function withEtag(bytes: Buffer): Made {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}

/** RFC 9110 §13.1.2. A proxy that compresses the document marks our tag as weak. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
