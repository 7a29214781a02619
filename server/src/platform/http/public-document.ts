/** A public document: created at the first request, then served from memory with an ETag. */
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nextSlice } from '../event-loop/time-slices.ts'

export type SendDocument = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Writing a longer one to a socket takes a millisecond or more, so it waits for a slice. */
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

/** RFC 9110 §13.1.2. A proxy that compresses the document makes the ETag weak (W/). */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
