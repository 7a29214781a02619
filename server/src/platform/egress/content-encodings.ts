/** The content encodings that we know, and how each is undone. */
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { ZstdOptions } from 'node:zlib'
import { notDecodable } from './failures.ts'

export const acceptedEncodings = 'gzip, br, zstd, deflate'

interface Bound {
  /** Fails with ERR_BUFFER_TOO_LARGE beyond. */
  maxOutputLength: number
  chunkSize?: number
}

export interface Decoder {
  /** The first bytes of the body are given where its format shows in them. */
  stream: (first: Uint8Array) => Transform
  sync: (body: Buffer, bound: Bound) => Buffer
  whole: (body: Buffer, bound: Bound) => Promise<Buffer>
}

/** RFC 9659 §3: a sender must not ask a decoder for a window of more than 8 MB. The library's own bound is 128 MB. */
const zstdOptions: ZstdOptions = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }

const gunzip = promisify<Buffer, Bound, Buffer>(zlib.gunzip)
const inflate = promisify<Buffer, Bound, Buffer>(zlib.inflate)
const inflateRaw = promisify<Buffer, Bound, Buffer>(zlib.inflateRaw)
const brotli = promisify<Buffer, Bound, Buffer>(zlib.brotliDecompress)

/** With `info` Node tells how far it read: `bytesWritten` of the engine. Its types don't know. */
interface Read {
  buffer: Buffer
  engine: { bytesWritten: number }
}
const zstd = promisify<Buffer, ZstdOptions, Read>(
  zlib.zstdDecompress as unknown as (
    body: Buffer,
    options: ZstdOptions,
    done: (error: Error | null, read: Read) => void,
  ) => void,
)
const zstdSync = zlib.zstdDecompressSync as unknown as (body: Buffer, options: ZstdOptions) => Read

/** One frame may follow another (RFC 8878 §3), and Node passes over it without a word: half an answer would look whole. */
function wholeOf({ buffer, engine }: Read, { length }: Buffer): Buffer {
  if (engine.bytesWritten < length) throw moreFrames()
  return buffer
}

function zstdStream(): Transform {
  const decoder = zlib.createZstdDecompress(zstdOptions)
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

const gzip: Decoder = { stream: () => zlib.createGunzip(), sync: zlib.gunzipSync, whole: gunzip }

const decoders = new Map<string, Decoder>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  [
    'deflate',
    {
      stream: (first) => (isZlib(first) ? zlib.createInflate() : zlib.createInflateRaw()),
      sync: (body, bound) => (isZlib(body) ? zlib.inflateSync(body, bound) : zlib.inflateRawSync(body, bound)),
      whole: (body, bound) => (isZlib(body) ? inflate(body, bound) : inflateRaw(body, bound)),
    },
  ],
  ['br', { stream: () => zlib.createBrotliDecompress(), sync: zlib.brotliDecompressSync, whole: brotli }],
  [
    'zstd',
    {
      stream: zstdStream,
      sync: (body, bound) => wholeOf(zstdSync(body, { ...bound, ...zstdOptions, info: true }), body),
      whole: async (body, bound) => wholeOf(await zstd(body, { ...bound, ...zstdOptions, info: true }), body),
    },
  ],
])

/** RFC 9110 §8.4.1.2 means zlib's format; some send the bare one. By RFC 1950 §2.2 the first two bytes tell them apart. */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}

/** One encoding on top of another is legal; more than two are only ever meant to hurt. */
const maxEncodings = 2

/** In the order in which they are undone. */
export function decodersFor(contentEncoding: string, host: string): Decoder[] {
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
