/**
 * What is the same for everyone, served from memory: to read it from disk for each request would take the threads that
 * the database's log is written by. A client may cache it.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nextSlice } from '../event-loop/time-slices.ts'

export type SendDocument = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** To write more than that takes a millisecond or more: a longer document is sent in pieces, each in its turn. */
const pieceBytes = 65_536

/** Shorter ones fit into a packet or two as they are. */
export const leastCompressed = 2_048

const typeOf: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.woff2': 'font/woff2',
}

interface Made {
  bytes: Buffer
  etag: string
  encoding?: string
}

/** A text that is made at the first request, and compressed then if that is worth it. */
export function publicDocument(contentType: string, make: () => string): SendDocument {
  return sending(contentType, 'public, max-age=300', () => {
    const bytes = Buffer.from(make())
    const compressed = bytes.length < leastCompressed ? [] : [{ ...withEtag(gzipSync(bytes)), encoding: 'gzip' }]
    return [...compressed, withEtag(bytes)]
  })
}

/** Of a file that lies there compressed as well, the client gets what it understands. Read at the first request. */
export function publicFile(path: string, cacheControl?: string): SendDocument {
  return sending(typeOf[extname(path)] ?? 'application/octet-stream', cacheControl, () => variantsOf(path))
}

function sending(contentType: string, cacheControl: string | undefined, make: () => Made[]): SendDocument {
  let variants: Made[] | undefined
  return (request, reply) => {
    variants ??= make()
    if (variants.length > 1) reply.header('vary', 'accept-encoding')
    if (cacheControl !== undefined) reply.header('cache-control', cacheControl)
    const understood = request.headers['accept-encoding'] ?? ''
    const fitting = variants.find(({ encoding }) => encoding === undefined || accepts(understood, encoding))
    return send(request, reply.type(contentType), fitting as Made)
  }
}

/** The shortest first, and the file itself last, which every client understands. */
function variantsOf(path: string): Made[] {
  const compressed = [
    ['br', '.br'],
    ['gzip', '.gz'],
  ].flatMap(([encoding = '', ending = '']) =>
    existsSync(path + ending) ? [{ ...withEtag(readFileSync(path + ending)), encoding }] : [],
  )
  return [...compressed, withEtag(readFileSync(path))]
}

/** RFC 9110 §12.5.3. */
export function accepts(acceptEncoding: string, encoding: string): boolean {
  return acceptEncoding.split(',').some((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    return name === encoding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
}

async function send({ headers }: FastifyRequest, reply: FastifyReply, { bytes, etag, encoding }: Made) {
  reply.header('etag', etag)
  if (reply.statusCode === 200 && isKnown(headers['if-none-match'], etag)) return reply.code(304).send()
  if (encoding !== undefined) reply.header('content-encoding', encoding)
  if (bytes.length <= pieceBytes) return reply.send(bytes)
  await nextSlice()
  reply.header('content-length', bytes.length)
  return reply.send(Readable.from(piecesOf(bytes), { objectMode: false, highWaterMark: pieceBytes }))
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    if (from > 0) await nextSlice()
    yield bytes.subarray(from, from + pieceBytes)
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
