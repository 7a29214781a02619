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
const zstd = promisify<Buffer, ZstdOptions, Buffer>(zlib.zstdDecompress)

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
      stream: () => zlib.createZstdDecompress(zstdOptions),
      sync: (body, bound) => zlib.zstdDecompressSync(body, { ...bound, ...zstdOptions }),
      whole: (body, bound) => zstd(body, { ...bound, ...zstdOptions }),
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
