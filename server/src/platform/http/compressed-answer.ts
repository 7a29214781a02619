/**
 * Compresses the answers of a route that are the same for every caller and repeat nothing that a caller sent. No other
 * answer of the API is compressed: it may hold what is private beside words of others, and its compressed length would
 * tell how much they have in common (BREACH).
 */
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accepts, leastCompressed } from './public-document.ts'

/** For `onSend` of the route. The last answer is kept compressed. */
export function compressAnswer() {
  let last: { text: string; bytes: Buffer } | undefined
  return ({ headers }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    if (typeof payload !== 'string' || reply.statusCode !== 200) return Promise.resolve(payload)
    const vary = reply.getHeader('vary')
    reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`)
    if (payload.length < leastCompressed || !accepts(headers['accept-encoding'] ?? '', 'gzip')) {
      return Promise.resolve(payload)
    }
    if (last?.text !== payload) last = { text: payload, bytes: gzipSync(payload) }
    reply.header('content-encoding', 'gzip')
    return Promise.resolve(last.bytes)
  }
}
