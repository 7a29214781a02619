/**
 * An upstream that returns the token it was called with, as a careless or hostile API might: in any form, at
 * any place of the response, framed in any way. The query of the call selects them.
 */
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { chunk, head, startRawHttp } from './raw-http.ts'
import type { RawUpstream } from './raw-http.ts'
import type { SecretForm } from './secret-forms.ts'

export const places = [
  'body',
  'json',
  'header',
  'header name',
  'etag',
  'location',
  'cookie',
  'trailer',
  'status text',
] as const
export type Place = (typeof places)[number]

export const framings = [
  'whole',
  'dribbled',
  'split',
  'no length',
  'behind 300 KiB',
  'gzip',
  'br',
  'deflate',
  'raw deflate',
  'zstd',
] as const
export type Framing = (typeof framings)[number]

export interface Reflection {
  form: string
  place: Place
  /** `split`: one copy for each byte of the form, on a line of its own, cut in two one byte further on each time. */
  framing: Framing
  /** The status of the response; 200 by default. */
  status?: number
  /** Another secret to return; by default the token of the call. */
  whose?: string
}

export function reflectionPath({ form, place, framing, status = 200, whose = '' }: Reflection): string {
  const query = new URLSearchParams({ form, place, framing, status: String(status), whose })
  return `/reflect?${query.toString()}`
}

/** Line breaks cannot be sent in a header line. */
export function fitsHeader(bytes: Buffer): boolean {
  return bytes.every((byte) => byte >= 0x20 && byte !== 0x7f)
}

const isName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** A header's name is a token (RFC 9110 §5.1). */
export function fitsHeaderName(bytes: Buffer): boolean {
  return isName.test(bytes.toString('latin1'))
}

const encoders: Partial<Record<Framing, { encoding: string; encode: (bytes: Buffer) => Buffer }>> = {
  gzip: { encoding: 'gzip', encode: gzipSync },
  br: { encoding: 'br', encode: brotliCompressSync },
  deflate: { encoding: 'deflate', encode: deflateSync },
  'raw deflate': { encoding: 'deflate', encode: deflateRawSync },
  zstd: { encoding: 'zstd', encode: zstdCompressSync },
}

export function startReflectingUpstream(
  t: Pick<TestContext, 'after'>,
  forms: readonly SecretForm[],
  others: Record<string, string> = {},
): Promise<RawUpstream> {
  return startRawHttp(t, ({ target, headers }, socket) => {
    const query = new URL(target, 'https://localhost').searchParams
    const token = (headers['authorization'] ?? '').replace(/^Bearer /, '')
    const secret = others[query.get('whose') ?? ''] ?? token
    const form = forms.find(({ name }) => name === query.get('form'))
    if (!form || secret === '') {
      socket.write(head('400 Bad Request', 'content-length: 0'))
      return
    }
    const place = query.get('place') as Place
    const framing = query.get('framing') as Framing
    const status = query.get('status') ?? '200'
    const shown = form.encode(secret)
    const { start, lines, trailer } = aroundBody(place, status, shown)
    const body = bodyWith(place, framing, shown)
    const encoder = encoders[framing]
    const bytes = encoder ? encoder.encode(Buffer.concat(body.parts)) : undefined
    const all = [...lines, ...(encoder ? [`content-encoding: ${encoder.encoding}`] : [])]
    const parts = bytes ? [bytes] : cut(body.parts, framing)
    if (framing === 'no length') {
      socket.end(Buffer.concat([head(start, ...all, `content-type: ${body.type}`, 'connection: close'), ...parts]))
      return
    }
    socket.write(head(start, ...all, `content-type: ${body.type}`, 'transfer-encoding: chunked'))
    sendInTurn(socket, [...parts.map(chunk), Buffer.concat([Buffer.from('0\r\n'), trailer, Buffer.from('\r\n')])])
  })
}

function aroundBody(place: Place, status: string, shown: Buffer) {
  const line = (name: string, ending = '') => Buffer.concat([Buffer.from(name), shown, Buffer.from(ending)])
  const lines: Partial<Record<Place, Buffer>> = {
    header: line('x-debug: token='),
    'header name': line('x-', ': 1'),
    etag: line('etag: "', '"'),
    location: line('location: https://localhost/next?token='),
    cookie: line('set-cookie: session=', '; Secure'),
  }
  const own = lines[place]
  return {
    start: place === 'status text' ? line(`${status} `) : `${status} Reflected`,
    lines: own ? [own] : [],
    trailer: place === 'trailer' ? line('x-sum: ', '\r\n') : Buffer.alloc(0),
  }
}

/** The form is surrounded by other text, so that tests can check that text too. */
function bodyWith(place: Place, framing: Framing, shown: Buffer): { type: string; parts: Buffer[] } {
  const distance = framing === 'behind 300 KiB' ? 'lorem ipsum '.repeat(25_600) : ''
  const around = (type: string, before: string, inside: Buffer, after: string) => ({
    type,
    parts: [Buffer.from(before), inside, Buffer.from(after)],
  })
  if (place === 'body') return around('text/plain', `${distance}before `, shown, ' after')
  if (place === 'json') return around('application/json', `{"text":"${distance}before ","token":"`, shown, '"}')
  return around('application/json', `{"text":"${distance}`, Buffer.from('nothing here'), '"}')
}

function cut([before, shown, after]: Buffer[], framing: Framing): Buffer[] {
  if (!before || !shown || !after) return []
  if (framing === 'split') {
    const copies = Array.from(shown, (_, at) => [
      Buffer.concat([before, shown.subarray(0, at)]),
      Buffer.concat([shown.subarray(at), after, Buffer.from('\n')]),
    ])
    return copies.flat()
  }
  const all = Buffer.concat([before, shown, after])
  if (framing !== 'dribbled') return [all]
  return Array.from(all, (_, index) => all.subarray(index, index + 1))
}

/** Each in its own tick, so that it is sent in its own packet. */
function sendInTurn(socket: TLSSocket, parts: Buffer[]): void {
  const [first, ...rest] = parts
  if (first === undefined || socket.destroyed) return
  socket.write(first, () => {
    setImmediate(() => {
      sendInTurn(socket, rest)
    })
  })
}
