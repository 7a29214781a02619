/**
 * Reads and writes tarballs (POSIX ustar). The same entries always give the same bytes: sorted, with one time and owner, and
 * without the time of compression.
 */
import { gunzipSync, gzipSync } from 'node:zlib'

export interface Entry {
  /** Relative, with slashes. */
  path: string
  bytes: Uint8Array
  isExecutable: boolean
}

const block = 512
/** npm's packages have it too: some tools choke on zero. */
const time = Math.floor(Date.UTC(1985, 9, 26, 8, 15) / 1000)

export function writeTar(entries: readonly Entry[]): Buffer {
  const folders = new Set(entries.flatMap(({ path }) => foldersOf(path)))
  const all = [
    ...[...folders].map((path) => ({ path, type: '5', mode: 0o755, bytes: new Uint8Array() })),
    ...entries.map(({ path, bytes, isExecutable }) => ({ path, type: '0', mode: isExecutable ? 0o755 : 0o644, bytes })),
  ].sort((one, other) => (one.path < other.path ? -1 : 1))
  const parts = all.flatMap(({ path, type, mode, bytes }) => [
    headerOf(path, type, mode, bytes.length),
    bytes,
    Buffer.alloc((block - (bytes.length % block)) % block),
  ])
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * block)]), { level: 6 })
}

/** Regular files only. */
export function readTar(tarball: Uint8Array): Entry[] {
  const tar = gunzipSync(tarball)
  const entries: Entry[] = []
  for (let at = 0; at + block <= tar.length && tar[at] !== 0;) {
    const text = (from: number, length: number) =>
      tar.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '')
    const number = (from: number, length: number) => Number.parseInt(text(from, length), 8)
    const size = number(124, 12)
    const [prefix, name] = [text(345, 155), text(0, 100)]
    const type = text(156, 1)
    if (type === '0' || type === '') {
      const path = prefix === '' ? name : `${prefix}/${name}`
      const bytes = tar.subarray(at + block, at + block + size)
      entries.push({ path, bytes, isExecutable: (number(100, 8) & 0o100) !== 0 })
    } else if (type !== '5') throw new Error(`${name} is of type ${type}, which is not expected here`)
    at += block + Math.ceil(size / block) * block
  }
  return entries
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`)
}

function headerOf(path: string, type: string, mode: number, size: number): Buffer {
  const header = Buffer.alloc(block)
  const put = (value: string, from: number, length: number) => {
    if (header.write(value, from, length) < Buffer.byteLength(value))
      throw new Error(`${path} is too long for a tarball`)
  }
  const octal = (value: number, length: number) => value.toString(8).padStart(length - 1, '0')
  const [prefix, name] = Buffer.byteLength(path) > 100 ? splitPath(path) : ['', path]
  put(name, 0, 100)
  put(octal(mode, 8), 100, 8)
  put(octal(0, 8), 108, 8)
  put(octal(0, 8), 116, 8)
  put(octal(size, 12), 124, 12)
  put(octal(time, 12), 136, 12)
  put(' '.repeat(8), 148, 8)
  put(type, 156, 1)
  put('ustar', 257, 6)
  put('00', 263, 2)
  put('root', 265, 32)
  put('root', 297, 32)
  put(prefix, 345, 155)
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(`${octal(sum, 7)}\0 `, 148, 8)
  return header
}

/** At a slash that leaves at most 100 bytes for the name. */
function splitPath(path: string): [prefix: string, name: string] {
  const at = path.indexOf('/', path.length - 101)
  if (at < 0) throw new Error(`${path} is too long for a tarball`)
  return [path.slice(0, at), path.slice(at + 1)]
}
