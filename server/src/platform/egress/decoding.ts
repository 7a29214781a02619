/** Bodies as they were before they were compressed. The bound holds at every step, while decoding: a bomb stops early. */
import { pipeline, Readable } from 'node:stream'
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { ServiceError } from '../errors.ts'
import { codeOf, tooLarge, unreachable } from './failures.ts'

export const acceptedEncodings = 'gzip, br, zstd, deflate'

const decoders: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** One encoding on top of another is legal; more than two are only ever meant to hurt. */
const maxEncodings = 2

/** The whole decoded body. `encoding` is the content-encoding header. */
export async function readDecoded(
  body: AsyncIterable<Uint8Array>,
  encoding: string,
  maxBytes: number,
  host: string,
): Promise<Buffer> {
  const names = encoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const encodings = names.filter((name) => name !== '' && name !== 'identity').reverse()
  const wanted = encodings.map((name) => decoders[name])
  if (wanted.length > maxEncodings) throw unreachable(host, 'too many content encodings')
  let decoded = body
  for (const create of wanted) {
    if (!create) throw unreachable(host, 'unknown content encoding')
    decoded = bounded(piped(decoded, create()), maxBytes, host)
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of bounded(decoded, maxBytes, host)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function piped(body: AsyncIterable<Uint8Array>, decoder: Transform): Readable {
  return pipeline(Readable.from(body), decoder, () => undefined)
}

async function* bounded(body: AsyncIterable<Uint8Array>, maxBytes: number, host: string): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(host, `more than ${maxBytes} bytes`)
      yield chunk
    }
  } catch (error) {
    throw codeOf(error).startsWith('Z_') ? unreachable(host, 'broken content encoding') : (error as ServiceError)
  }
}
