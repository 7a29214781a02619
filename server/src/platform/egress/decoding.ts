/**
 * Bodies as they were before they were compressed: what can not be decoded can not be looked through, so it is refused.
 * The bound on what comes out holds while decoding: a bomb stops early.
 */
import { pipeline, Readable } from 'node:stream'
import { decodersFor } from './content-encodings.ts'
import type { Decoder } from './content-encodings.ts'
import { codeOf, notDecodable, tooLarge } from './failures.ts'

export { acceptedEncodings } from './content-encodings.ts'

/** What is small goes in and comes out at once; the way through a thread would take longer. */
const smallBytes = 16_384
const smallDecodedBytes = 131_072

/** The whole decoded body; nothing is done where it is not encoded. An empty one is empty in every encoding. */
export async function decodeWhole(
  body: Buffer,
  contentEncoding: string,
  maxBytes: number,
  host: string,
): Promise<Buffer> {
  let decoded = body
  for (const decoder of decodersFor(contentEncoding, host)) {
    if (decoded.length === 0) break
    decoded = await decodeOne(decoder, decoded, maxBytes, host)
  }
  return decoded
}

async function decodeOne(decoder: Decoder, body: Buffer, maxBytes: number, host: string): Promise<Buffer> {
  const isTooLong = (error: unknown) => codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
  try {
    if (body.length <= smallBytes) {
      try {
        return decoder.sync(body, { maxOutputLength: Math.min(smallDecodedBytes, maxBytes) })
      } catch (error) {
        if (!isTooLong(error) || maxBytes <= smallDecodedBytes) throw error
      }
    }
    return await decoder.whole(body, { maxOutputLength: maxBytes, chunkSize: 65_536 })
  } catch (error) {
    throw isTooLong(error)
      ? tooLarge(host, `more than ${maxBytes} bytes`)
      : notDecodable(host, 'broken content encoding')
  }
}

/** Beyond the first 10 MiB. Deflate alone can do no more; other formats turn a kilobyte into gigabytes. */
const maxExpansion = 1100
const freeBytes = 10_485_760

/** The decoded body as it comes, in constant memory. What is not encoded passes through untouched. */
export function decodeStream(
  body: AsyncIterable<Uint8Array>,
  contentEncoding: string,
  host: string,
): AsyncIterable<Uint8Array> {
  const undo = decodersFor(contentEncoding, host)
  return undo.length === 0 ? body : decodeChunks(body, undo, host, Infinity)
}

/** The whole decoded body of a stream, refused as soon as it is too large at any step. */
export async function readDecoded(
  body: AsyncIterable<Uint8Array>,
  contentEncoding: string,
  maxBytes: number,
  host: string,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of decodeChunks(body, decodersFor(contentEncoding, host), host, maxBytes)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* decodeChunks(
  body: AsyncIterable<Uint8Array>,
  undo: Decoder[],
  host: string,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let raw = 0
  const counted = bounded(
    body,
    host,
    () => maxBytes,
    (bytes) => (raw = bytes),
  )
  let decoded: AsyncIterable<Uint8Array> = counted
  for (const decoder of undo) {
    decoded = bounded(through(decoder, decoded, host), host, () => Math.min(maxBytes, freeBytes + raw * maxExpansion))
  }
  yield* decoded
}

async function* bounded(
  body: AsyncIterable<Uint8Array>,
  host: string,
  maxBytes: () => number,
  count: (bytes: number) => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    count(bytes)
    const most = maxBytes()
    if (bytes > most) throw tooLarge(host, `more than ${most} bytes`)
    yield chunk
  }
}

/** One encoding undone. A decoder's own failures come in our words; those of the body, such as its time being up, unchanged. */
async function* through(decoder: Decoder, body: AsyncIterable<Uint8Array>, host: string): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  const first = await firstBytes(chunks)
  if (first.length === 0) return
  const rest = (async function* () {
    yield first
    yield* { [Symbol.asyncIterator]: () => chunks }
  })()
  try {
    yield* pipeline(Readable.from(rest), decoder.stream(first), () => undefined) as AsyncIterable<Uint8Array>
  } catch (error) {
    throw /^(?:Z_|ZSTD_|ERR_)/.test(codeOf(error)) ? notDecodable(host, 'broken content encoding') : error
  }
}

/** As many as it takes to tell formats apart; fewer where the body ends before. */
async function firstBytes(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let first: Uint8Array = Buffer.alloc(0)
  while (first.length < 2) {
    const next = await chunks.next()
    if (next.done) break
    first = first.length === 0 ? next.value : Buffer.concat([first, next.value])
  }
  return first
}
