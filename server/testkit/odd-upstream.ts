/**
 * An upstream that misbehaves on demand: `/odd/<name>` does what its name says. Invalid HTTP is written as raw bytes.
 */
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { chunk, head, reset, startRawHttp, whole } from './raw-http.ts'
import type { RawRequest, RawUpstream } from './raw-http.ts'

export type Behaviour = (socket: TLSSocket, request: RawRequest) => void

const json = 'content-type: application/json'
const text = 'content-type: text/plain; charset=utf-8'
const chunked = 'transfer-encoding: chunked'
const hello = '{"hello":"world"}'
const says =
  (...parts: (string | Buffer)[]): Behaviour =>
  (socket) => {
    for (const part of parts) socket.write(part)
  }
const saysAndCloses =
  (...parts: (string | Buffer)[]): Behaviour =>
  (socket) => {
    socket.end(Buffer.concat(parts.map((part) => Buffer.from(part))))
  }

/** Byte by byte, each in its own packet. */
function dribble(socket: TLSSocket, bytes: Buffer, everyMs: number): void {
  let sent = 0
  const timer = setInterval(() => {
    if (sent < bytes.length && !socket.destroyed) socket.write(bytes.subarray(sent, ++sent))
    else clearInterval(timer)
  }, everyMs)
}

/** More than fits into one chunk. */
export const longText = 'Zwölf Boxkämpfer\n'.repeat(20_000)

const zipped = gzipSync(hello)
const bombBytes = 64 * 1024 ** 2

export const behaviours = {
  plain: says(whole('200 OK', [json], hello)),
  chunked: says(head('200 OK', json, chunked), chunk('{"hello":'), chunk('"world"}'), '0\r\n\r\n'),
  'chunk extensions': says(head('200 OK', json, chunked), '11;name="a;b"\r\n', hello, '\r\n0;last\r\n\r\n'),
  'no length': saysAndCloses(head('200 OK', json), hello),
  'empty body': says(whole('200 OK', [json], '')),
  'http 1.0': saysAndCloses('HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n', hello),
  '100 continue': says(head('100 Continue'), whole('200 OK', [json], hello)),
  'early hints': says(head('103 Early Hints', 'link: </style.css>; rel=preload'), whole('200 OK', [json], hello)),
  'hints without end': (socket) => {
    const timer = setInterval(() => {
      if (socket.destroyed) clearInterval(timer)
      else socket.write(Buffer.concat(Array.from({ length: 100 }, () => head('103 Early Hints', 'x-hint: 1'))))
    }, 1)
  },
  'switching protocols': says(head('101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket')),
  trailers: says(
    head('200 OK', json, chunked, 'trailer: x-sum'),
    chunk(hello),
    '0\r\nx-sum: 4711\r\nset-cookie: a=b\r\n\r\n',
  ),

  'invalid json': says(whole('200 OK', [json], '{"hello": wor')),
  'json with a byte order mark': says(whole('200 OK', [json], `\ufeff${hello}`)),
  'json twice': says(whole('200 OK', [json], `${hello}\n${hello}\n`)),
  'invalid utf-8': says(whole('200 OK', [text], Buffer.from([0x61, 0xff, 0xfe, 0x62]))),
  'json in invalid utf-8': says(whole('200 OK', [json], Buffer.from([0x22, 0xff, 0x22]))),
  'latin-1 text': says(whole('200 OK', ['content-type: text/plain; charset=iso-8859-1'], Buffer.from([0x67, 0xe9]))),
  binary: says(whole('200 OK', ['content-type: image/png'], Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]))),
  'no type': says(whole('200 OK', [], hello)),
  'long json': says(whole('200 OK', [json], JSON.stringify([longText]))),
  'long text': says(whole('200 OK', [text], longText)),

  'head with a body': says(whole('200 OK', [json], hello)),
  'no content with a body': says(whole('204 No Content', [json], hello)),
  'not modified with a length': says(head('304 Not Modified', 'etag: "1"', 'content-length: 4096')),
  redirect: says(whole('302 Found', ['location: /odd/plain'], '')),
  'no reason': says(whole('200', [json], hello)),
  'a status of its own': says(whole('799 Whatever', [json], hello)),

  cookies: says(whole('200 OK', [json, 'set-cookie: a=1', 'set-cookie: b=2', 'x-kept: yes'], hello)),
  'headers of the connection': says(
    whole('200 OK', [json, 'connection: keep-alive, x-hop', 'keep-alive: timeout=5', 'x-hop: 1'], hello),
  ),
  'a header twice': says(whole('200 OK', [json, 'x-many: one', 'x-many: two', 'link: </a>', 'link: </b>'], hello)),
  'a huge header': says(whole('200 OK', [json, `x-huge: ${'h'.repeat(200_000)}`], hello)),
  'too many headers': says(
    whole('200 OK', [json, ...Array.from({ length: 5000 }, (_, index) => `x-${index}: ${'v'.repeat(60)}`)], hello),
  ),
  'a zero byte in a header': says(whole('200 OK', [json, 'x-bad: a\0b'], hello)),
  'a header without a colon': says(whole('200 OK', [json, 'nonsense'], hello)),
  'bare line feeds': says(`HTTP/1.1 200 OK\n${json}\ncontent-length: ${hello.length}\n\n${hello}`),

  'closes at once': (socket) => socket.end(),
  'closes within its headers': saysAndCloses('HTTP/1.1 200 OK\r\ncontent-ty'),
  'closes within its body': saysAndCloses(head('200 OK', json, 'content-length: 100'), hello),
  'closes within a chunk': saysAndCloses(head('200 OK', json, chunked), '64\r\n', hello),
  'closes before the last chunk': saysAndCloses(head('200 OK', json, chunked), chunk(hello)),
  'resets within its body': (socket) => {
    socket.write(Buffer.concat([head('200 OK', json, 'content-length: 100'), Buffer.from(hello)]), () => {
      setTimeout(() => {
        reset(socket)
      }, 50)
    })
  },
  'more than its length': saysAndCloses(head('200 OK', text, 'content-length: 5'), 'hello and more'),
  'a length twice': says(head('200 OK', text, 'content-length: 5', 'content-length: 5'), 'hello'),
  'two lengths': says(head('200 OK', text, 'content-length: 5', 'content-length: 6'), 'hello!'),
  'a length that is none': says(head('200 OK', text, 'content-length: five'), 'hello'),
  'a length and chunks': says(head('200 OK', text, chunked, 'content-length: 5'), chunk('hello'), '0\r\n\r\n'),
  'not http': saysAndCloses('220 mail.example ESMTP\r\n'),

  'slow first byte': (socket) => {
    setTimeout(() => socket.write(whole('200 OK', [json], hello)), 300)
  },
  'slow body': (socket) => {
    socket.write(head('200 OK', json, `content-length: ${hello.length}`))
    dribble(socket, Buffer.from(hello), 10)
  },
  'never answers': () => undefined,
  'stops within its body': says(head('200 OK', json, 'content-length: 100'), hello),

  gzip: says(whole('200 OK', [json, 'content-encoding: gzip'], zipped)),
  zstd: says(whole('200 OK', [json, 'content-encoding: zstd'], zstdCompressSync(hello))),
  'gzip twice': says(whole('200 OK', [json, 'content-encoding: gzip, gzip'], gzipSync(zipped))),
  'gzip in two members': says(
    whole('200 OK', [json, 'content-encoding: x-gzip'], Buffer.concat([gzipSync('{"hello":'), gzipSync('"world"}')])),
  ),
  'gzip of an error': says(whole('404 Not Found', [json, 'content-encoding: gzip'], zipped)),
  'gzip cut short': says(whole('200 OK', [json, 'content-encoding: gzip'], zipped.subarray(0, -12))),
  'gzip that is none': says(whole('200 OK', [json, 'content-encoding: gzip'], hello)),
  'gzip of nothing': says(whole('200 OK', [json, 'content-encoding: gzip'], '')),
  'a bomb': (socket) => {
    socket.write(whole('200 OK', [json, 'content-encoding: gzip'], gzipSync(Buffer.alloc(bombBytes))))
  },
  'an unknown encoding': says(whole('200 OK', [json, 'content-encoding: compress'], hello)),
  identity: says(whole('200 OK', [json, 'content-encoding: identity'], hello)),
} satisfies Record<string, Behaviour>

export type Oddity = keyof typeof behaviours

/** The URL of one of them. */
export function oddPath(name: Oddity): string {
  return `/odd/${encodeURIComponent(name)}`
}

export function startOddUpstream(t: Pick<TestContext, 'after'>): Promise<RawUpstream> {
  return startRawHttp(t, (request, socket) => {
    const name = decodeURIComponent(/^\/odd\/([^/?]+)/.exec(request.target)?.[1] ?? '')
    const behaviour: Behaviour | undefined = name in behaviours ? behaviours[name as Oddity] : undefined
    if (behaviour) behaviour(socket, request)
    else socket.write(whole('404 Not Found', [], ''))
  })
}
