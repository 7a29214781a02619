/** Bodies as they were before they were compressed. The bound holds at every step, while decoding: a bomb stops early. */
import { pipeline, Readable } from 'node:stream'
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { codeOf, notDecodable, tooLarge } from './failures.ts'

export const acceptedEncodings = 'gzip, br, zstd, deflate'

const decoders = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress],
])

/** One encoding on top of another is legal; more than two are only ever meant to hurt. */
const maxEncodings = 2

/** The whole decoded body. `encoding` is the content-encoding header. */
export async function readDecoded(
  body: AsyncIterable<Uint8Array>,
  encoding: string,
  maxBytes: number,
  host: string,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let decoded = bounded(body, maxBytes, host)
  for (const create of decodersFor(encoding, host)) {
    decoded = bounded(
      naming(
        pipeline(Readable.from(decoded), create(), () => undefined),
        host,
      ),
      maxBytes,
      host,
    )
  }
  for await (const chunk of decoded) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The whole decoded body; nothing is done where it is not encoded. */
export async function decodeWhole(
  body: Buffer,
  contentEncoding: string,
  maxBytes: number,
  host: string,
): Promise<Buffer> {
  if (contentEncoding === '' || body.length === 0) return body
  return readDecoded(Readable.from([body]), contentEncoding, maxBytes, host)
}

/** The decoded body as it comes. */
export function decodeStream(
  body: AsyncIterable<Uint8Array>,
  contentEncoding: string,
  host: string,
): AsyncIterable<Uint8Array> {
  let decoded = body
  for (const create of decodersFor(contentEncoding, host)) {
    decoded = naming(
      pipeline(Readable.from(decoded), create(), () => undefined),
      host,
    )
  }
  return decoded
}

/** In the order in which they are undone. */
function decodersFor(encoding: string, host: string): (() => Transform)[] {
  const names = encoding.split(',').map((name) => name.trim().toLowerCase())
  const encodings = names.filter((name) => name !== '' && name !== 'identity').reverse()
  if (encodings.length > maxEncodings) throw notDecodable(host, 'too many content encodings')
  return encodings.map((name) => {
    const create = decoders.get(name)
    if (!create) throw notDecodable(host, 'unknown content encoding')
    return create
  })
}

async function* bounded(body: AsyncIterable<Uint8Array>, maxBytes: number, host: string): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(host, `more than ${maxBytes} bytes`)
    yield chunk
  }
}

/** A decoder's own failures in our words; those of the body, such as its time being up, pass through it unchanged. */
async function* naming(decoder: AsyncIterable<Uint8Array>, host: string): AsyncGenerator<Uint8Array> {
  try {
    yield* decoder
  } catch (error) {
    throw /^(?:Z_|ZSTD_|ERR_)/.test(codeOf(error)) ? notDecodable(host, 'broken content encoding') : error
  }
}
