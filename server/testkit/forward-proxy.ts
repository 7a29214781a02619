/**
 * A forward proxy of a company: it takes CONNECT, asks for a password if one is set, passes bytes on and keeps them, as
 * one does that looks at everything. What else it does is up to the test.
 */
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import type { Certificate } from './certificates.ts'
import { listen } from './tls-upstream.ts'
import type { Listening } from './tls-upstream.ts'

export interface ForwardProxy extends Listening {
  /** The target of each CONNECT. */
  targets: string[]
  /** Everything that passed, in both directions, with the heads of the CONNECTs. */
  seen: () => string
}

interface Habits {
  /** user:password */
  password?: string
  /** Serves CONNECT over TLS. */
  certificate?: Certificate
  /** Where it leads everyone, whatever they asked for. */
  leadsTo?: number
  /** Instead of passing bytes on. Returns true if it has dealt with the tunnel. */
  misbehave?: (socket: Duplex, target: string) => boolean
}

export async function startForwardProxy(
  t: Pick<TestContext, 'after'>,
  { password, certificate, leadsTo, misbehave = () => false }: Habits = {},
): Promise<ForwardProxy> {
  const targets: string[] = []
  const chunks: Buffer[] = []
  const server = certificate ? createSecureServer(certificate) : createServer()
  server.on('request', (_request, response) => response.writeHead(400).end())
  server.on('connect', ({ url: target = '', rawHeaders, headers }, socket: Duplex) => {
    targets.push(target)
    chunks.push(Buffer.from(rawHeaders.join('\n')))
    socket.on('error', () => undefined)
    const wanted = `Basic ${Buffer.from(password ?? '').toString('base64')}`
    if (password !== undefined && headers['proxy-authorization'] !== wanted) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="out"\r\n\r\n')
    } else if (!misbehave(socket, target)) {
      // Every name is this machine, as the tests' own look-up has it.
      const upstream = connect(leadsTo ?? Number(/\d+$/.exec(target)?.[0]), '127.0.0.1')
      for (const [from, to] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        from.on('data', (chunk: Buffer) => chunks.push(chunk))
        from.on('error', () => to.destroy()).on('close', () => to.destroy())
      }
      upstream.once('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        socket.pipe(upstream)
        upstream.pipe(socket)
      })
    }
  })
  return { targets, seen: () => Buffer.concat(chunks).toString('latin1'), ...(await listen(t, server)) }
}
