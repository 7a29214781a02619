/**
 * Decodes content encodings. A body that can't be decoded can't be redacted, so it is refused. The size limit applies while
 * decoding, which stops decompression bombs early.
 */
import { pipeline, Readable } from 'node:stream'
import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { ZstdOptions } from 'node:zlib'
import { codeOf, notDecodable, tooLarge } from './failures.ts'

export const acceptedEncodings = 'gzip, br, zstd, deflate'

type Chunks = AsyncIterable<Uint8Array>

interface Decoder {
  /** `first` is the beginning of the body, from which some formats are recognised. */
  stream: (first: Uint8Array, options?: { chunkSize: number }) => Transform
  /** Output that is too long fails with ERR_BUFFER_TOO_LARGE. */
  sync: (body: Buffer, options: { maxOutputLength: number }) => Buffer
}

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
    const small = decoded.length <= smallBytes ? decodeSmall(decoder, decoded, maxBytes, host) : undefined
    decoded = small ?? (await decodeLarge(decoder, decoded, maxBytes, host))
  }
  return decoded
}

/** Decodes at once. Undefined if the body is not small, or not when it is decoded. */
export function decodeSmallWhole(body: Buffer, contentEncoding: string, host: string): Buffer | undefined {
  let decoded = body
  for (const decoder of decodersFor(contentEncoding, host)) {
    if (decoded.length === 0) break
    const next = decoded.length <= smallBytes ? decodeSmall(decoder, decoded, smallDecodedBytes, host) : undefined
    if (!next) return undefined
    decoded = next
  }
  return decoded
}

/** Undefined if the decoded body is not small. */
function decodeSmall({ sync }: Decoder, body: Buffer, maxBytes: number, host: string): Buffer | undefined {
  try {
    return sync(body, { maxOutputLength: Math.min(smallDecodedBytes, maxBytes) })
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw notDecodable(host, 'broken content encoding')
  }
}

function decodeLarge({ stream }: Decoder, body: Buffer, maxBytes: number, host: string): Promise<Buffer> {
  const decoder = stream(body, { chunkSize: 65_536 })
  decoder.end(body)
  return readAll(bounded(withOurErrors(decoder, host), host, () => maxBytes))
}

/** Decodes a stream in constant memory. */
export function decodeStream(body: Chunks, contentEncoding: string, host: string): Chunks {
  const decoders = decodersFor(contentEncoding, host)
  return decoders.length === 0 ? body : decodeChunks(body, decoders, host, Infinity)
}

/** Reads and decodes a stream, which is refused as soon as any decoding step is too large. */
export function readDecoded(body: Chunks, contentEncoding: string, maxBytes: number, host: string): Promise<Buffer> {
  return readAll(decodeChunks(body, decodersFor(contentEncoding, host), host, maxBytes))
}

async function readAll(body: Chunks): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The most that deflate can expand a stream. Other formats can turn a kilobyte into gigabytes. Not applied to the first 10 MiB. */
const maxExpansion = 1100
const freeBytes = 10_485_760

async function* decodeChunks(
  body: Chunks,
  decoders: Decoder[],
  host: string,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let raw = 0
  const most = () => Math.min(maxBytes, freeBytes + raw * maxExpansion)
  let decoded: Chunks = bounded(body, host, most, (bytes) => (raw = bytes))
  for (const decoder of decoders) decoded = bounded(through(decoder, decoded, host), host, most)
  yield* decoded
}

async function* bounded(
  body: Chunks,
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

/** Undoes one encoding. */
async function* through(decoder: Decoder, body: Chunks, host: string): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  const first = await firstBytes(chunks)
  if (first.length === 0) return
  const rest = (async function* () {
    yield first
    yield* { [Symbol.asyncIterator]: () => chunks }
  })()
  yield* withOurErrors(pipeline(Readable.from(rest), decoder.stream(first), () => undefined) as Chunks, host)
}

/** Decoder errors become our own; errors of the body, such as a timeout, stay as they are. */
async function* withOurErrors(decoder: Chunks, host: string): AsyncGenerator<Uint8Array> {
  try {
    yield* decoder
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

const gzip: Decoder = { stream: (_first, options) => zlib.createGunzip(options), sync: zlib.gunzipSync }

const decoders = new Map<string, Decoder>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  [
    'deflate',
    {
      stream: (first, options) => (isZlib(first) ? zlib.createInflate(options) : zlib.createInflateRaw(options)),
      sync: (body, options) => (isZlib(body) ? zlib.inflateSync(body, options) : zlib.inflateRawSync(body, options)),
    },
  ],
  ['br', { stream: (_first, options) => zlib.createBrotliDecompress(options), sync: zlib.brotliDecompressSync }],
  ['zstd', { stream: (_first, options) => zstdStream(options), sync: zstdSync }],
])

/** `deflate` means the zlib format (RFC 9110 §8.4.1.2), but some servers send raw deflate. The header tells (RFC 1950 §2.2). */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}

/** RFC 9659 §3 limits the window to 8 MB. The library's own limit is 128 MB. */
const zstdOptions: ZstdOptions = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }

/** Node silently ignores further frames (RFC 8878 §3): a partial response would look complete. So they are an error. */
function zstdSync(body: Buffer, options: ZstdOptions): Buffer {
  // With the option `info`, Node also returns how much input was read. Its types lack that.
  const read = zlib.zstdDecompressSync(body, { ...options, ...zstdOptions, info: true }) as unknown as {
    buffer: Buffer
    engine: { bytesWritten: number }
  }
  if (read.engine.bytesWritten < body.length) throw moreFrames()
  return read.buffer
}

function zstdStream(options?: ZstdOptions): Transform {
  const decoder = zlib.createZstdDecompress({ ...options, ...zstdOptions })
  const transform = decoder._transform.bind(decoder)
  decoder._transform = (piece: Buffer, encoding, done) => {
    const before = decoder.bytesWritten
    transform(piece, encoding, (error) => {
      done(error ?? (decoder.bytesWritten - before < piece.length ? moreFrames() : null))
    })
  }
  return decoder
}

function moreFrames(): Error {
  return Object.assign(new Error('More follows the end of a frame'), { code: 'ZSTD_more_frames' })
}

/** Several encodings are legal; more than two are only used for attacks. */
const maxEncodings = 2

/** In decoding order. */
function decodersFor(contentEncoding: string, host: string): Decoder[] {
  if (contentEncoding === '') return []
  const names = contentEncoding.split(',').map((name) => name.trim().toLowerCase())
  const encodings = names.filter((name) => name !== '' && name !== 'identity').reverse()
  if (encodings.length > maxEncodings) throw notDecodable(host, 'too many content encodings')
  return encodings.map((name) => {
    const decoder = decoders.get(name)
    if (!decoder) throw notDecodable(host, 'unknown content encoding')
    return decoder
  })
}
