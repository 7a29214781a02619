/**
 * Decodes content encodings. A body that can't be decoded can't be redacted, so it is refused. The size limit applies while
 * decoding, which stops decompression bombs early.
 */
import { pipeline, Readable } from 'node:stream'
import { decodersFor } from './content-encodings.ts'
import type { Decoder } from './content-encodings.ts'
import { codeOf, notDecodable, tooLarge } from './failures.ts'

export { acceptedEncodings } from './content-encodings.ts'

/** Small bodies are decoded synchronously: the thread pool would take longer. */
const smallBytes = 16_384
const smallDecodedBytes = 131_072

/** The decoded body. An empty body stays empty, whatever its encoding. */
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

/** The most that deflate can expand. Other formats can turn a kilobyte into gigabytes. Not applied to the first 10 MiB. */
const maxExpansion = 1100
const freeBytes = 10_485_760

/** Decodes a stream in constant memory. */
export function decodeStream(
  body: AsyncIterable<Uint8Array>,
  contentEncoding: string,
  host: string,
): AsyncIterable<Uint8Array> {
  const undo = decodersFor(contentEncoding, host)
  return undo.length === 0 ? body : decodeChunks(body, undo, host, Infinity)
}

/** Reads and decodes a stream, which is refused as soon as any decoding step is too large. */
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

/** Undoes one encoding. Decoder errors become our own; errors of the body, such as a timeout, stay as they are. */
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

/** Enough bytes to recognise the format, or fewer if the body is shorter. */
async function firstBytes(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let first: Uint8Array = Buffer.alloc(0)
  while (first.length < 2) {
    const next = await chunks.next()
    if (next.done) break
    first = first.length === 0 ? next.value : Buffer.concat([first, next.value])
  }
  return first
}
