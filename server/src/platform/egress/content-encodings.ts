/** The supported content encodings and their decoders. */
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { ZstdOptions } from 'node:zlib'
import { notDecodable } from './failures.ts'

export const acceptedEncodings = 'gzip, br, zstd, deflate'

interface Bound {
  /** Larger output fails with ERR_BUFFER_TOO_LARGE. */
  maxOutputLength: number
  chunkSize?: number
}

export interface Decoder {
  /** `first` is the beginning of the body, from which some formats are recognised. */
  stream: (first: Uint8Array) => Transform
  sync: (body: Buffer, bound: Bound) => Buffer
  whole: (body: Buffer, bound: Bound) => Promise<Buffer>
}

/** RFC 9659 §3 limits the window to 8 MB. The library's own limit is 128 MB. */
const zstdOptions: ZstdOptions = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }

const gunzip = promisify<Buffer, Bound, Buffer>(zlib.gunzip)
const inflate = promisify<Buffer, Bound, Buffer>(zlib.inflate)
const inflateRaw = promisify<Buffer, Bound, Buffer>(zlib.inflateRaw)
const brotli = promisify<Buffer, Bound, Buffer>(zlib.brotliDecompress)

/** With the option `info`, Node also returns how much input was read (`engine.bytesWritten`). Its types lack that. */
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

/** Node silently ignores further frames (RFC 8878 §3): a partial response would look complete. So they are an error. */
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

/** `deflate` means the zlib format (RFC 9110 §8.4.1.2), but some servers send raw deflate. The header tells (RFC 1950 §2.2). */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}

/** Several encodings are legal; more than two are only used for attacks. */
const maxEncodings = 2

/** In decoding order. */
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
