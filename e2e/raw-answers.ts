/** Every byte of a response: status line, headers, body, trailers. */
import { request as plainRequest } from 'node:http'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib'

export interface RawAnswer {
  status: number
  /** As bytes: the status text, names and values of headers and trailers. */
  around: Buffer
  /** Decoded. */
  body: Buffer
}

/** `ca` for an upstream of the tests; our own service listens without TLS. */
export async function readRaw(options: RequestOptions & { ca?: string }, payload?: string): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const send = options.ca === undefined ? plainRequest : tlsRequest
  send(options, resolve).on('error', reject).end(payload)
  const response = await promise
  const received = await buffer(response)
  const { statusMessage = '', rawHeaders, rawTrailers, headers, statusCode = 0 } = response
  return {
    status: statusCode,
    around: Buffer.from([statusMessage, ...rawHeaders, ...rawTrailers].join('\n'), 'latin1'),
    body: await decoded(received, headers['content-encoding']),
  }
}

async function decoded(bytes: Buffer, encoding: string | undefined): Promise<Buffer> {
  if (encoding === 'gzip') return promisify(gunzip)(bytes)
  if (encoding === 'br') return promisify(brotliDecompress)(bytes)
  if (encoding === 'zstd') return promisify(zstdDecompress)(bytes)
  if (encoding !== 'deflate') return bytes
  // Some servers send deflate without the zlib header that RFC 9110 §8.4.1.2 requires.
  return promisify(inflate)(bytes).catch(() => promisify(inflateRaw)(bytes))
}
