/** HTTP/1.1 written as raw bytes over TLS, for responses that no library would send. */
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { sharedAuthority } from './certificates.ts'
import { startRawTls } from './tls-upstream.ts'
import type { Listening } from './tls-upstream.ts'

export interface RawRequest {
  method: string
  /** Path and query, as sent. */
  target: string
  /** Lower-case names. */
  headers: Record<string, string>
  body: Buffer
}

export interface RawUpstream extends Listening {
  /** `localhost:PORT`, as a host is written in a grant. */
  host: string
  caFile: string
  requests: RawRequest[]
}

/** Requests on one connection are handled one after the other. */
export async function startRawHttp(
  t: Pick<TestContext, 'after'>,
  answer: (request: RawRequest, socket: TLSSocket) => void,
): Promise<RawUpstream> {
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1', '::1'] })
  const requests: RawRequest[] = []
  const listening = await startRawTls(t, certificate, (socket) => {
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      for (let read = readRequest(received); read !== undefined; read = readRequest(received)) {
        received = received.subarray(read.bytes)
        requests.push(read.request)
        answer(read.request, socket)
      }
    })
  })
  return { ...listening, requests, host: `localhost:${listening.port}`, caFile: authority.caFile }
}

/** Undefined until the request is complete. Expects a content-length, which our client always sends. */
function readRequest(received: Buffer): { request: RawRequest; bytes: number } | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = received.toString('latin1', 0, end).split('\r\n')
  const [method = '', target = ''] = first.split(' ')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const bytes = end + 4 + Number(headers['content-length'] ?? 0)
  if (received.length < bytes) return undefined
  return { request: { method, target, headers, body: received.subarray(end + 4, bytes) }, bytes }
}

/** The head of a response. Header lines are sent as given: nothing is added or checked. */
export function head(status: string | Buffer, ...lines: (string | Buffer)[]): Buffer {
  const parts = [Buffer.from('HTTP/1.1 '), status, ...lines.flatMap((line) => ['\r\n', line]), '\r\n\r\n']
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
}

/** A complete response with its content-length. */
export function whole(status: string, lines: string[], body: string | Buffer): Buffer {
  const bytes = Buffer.from(body)
  return Buffer.concat([head(status, ...lines, `content-length: ${bytes.length}`), bytes])
}

export function chunk(body: string | Buffer): Buffer {
  const bytes = Buffer.from(body)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

/** Closes the connection with a TCP reset, like a crash. */
export function reset(socket: TLSSocket): void {
  // The socket under TLS has no public name.
  const { _parent: underneath } = socket as unknown as { _parent: Socket }
  underneath.resetAndDestroy()
}
