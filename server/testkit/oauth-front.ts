/**
 * The TLS front of a test's provider. It forwards calls to a plain HTTP server, so that it can record the
 * calls, collect every secret in them, and inject faults.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { buffer } from 'node:stream/consumers'
import { Agent, fetch } from 'undici'
import type { Authority } from './certificates.ts'
import { createFaults } from './oauth-faults.ts'
import type { Answer, Faults } from './oauth-faults.ts'
import { secretsOfAnswer, secretsOfRequest } from './oauth-secrets.ts'

export interface Call {
  method: string
  path: string
  grantType?: string
  /** 0 until there is a response. */
  status: number
}

export interface Front {
  origin: string
  host: string
  calls: Call[]
  secrets: Set<string>
  fault: Faults['raise']
  /** A fetch that trusts the server's certificate. */
  fetch: typeof fetch
  close: () => Promise<void>
}

/** Hop-by-hop headers, and those that are set again. */
const hopHeaders = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'te', 'upgrade', 'expect']

export async function startFront(
  t: Pick<TestContext, 'after'>,
  authority: Authority,
  port: number,
  inside: (origin: string) => RequestListener | Promise<RequestListener>,
): Promise<Front> {
  const calls: Call[] = []
  const secrets = new Set<string>()
  const faults = createFaults()
  const agent = new Agent({ connect: { ca: authority.caPem } })
  const certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1', '::1'] })

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    const path = new URL(request.url ?? '/', origin).pathname
    const shown = secretsOfRequest(request, body)
    const call: Call = {
      method: request.method ?? '',
      path,
      ...(shown.grantType !== undefined && { grantType: shown.grantType }),
      status: 0,
    }
    calls.push(call)
    shown.secrets.forEach((secret) => secrets.add(secret))

    const instead = faults.answerOf(path)
    if (instead === 'hang') return
    if (instead === 'cut') return void response.destroy()
    const given = typeof instead === 'object' ? instead : await askInside(request, body)
    secretsOfAnswer(given).forEach((secret) => secrets.add(secret))
    const answer = faults.changed(path, given)
    secretsOfAnswer(answer).forEach((secret) => secrets.add(secret))
    await faults.heldBack(path)
    if (instead === 'lost') return void response.destroy()
    call.status = answer.status
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const askInside = async (request: IncomingMessage, body: Buffer): Promise<Answer> => {
    const reply = await insideAgent.request({
      origin: insideOrigin,
      path: request.url ?? '/',
      method: request.method ?? 'GET',
      headers: { ...withoutHopHeaders(request.headers), 'x-forwarded-proto': 'https' },
      body: body.length > 0 ? body : null,
    })
    return {
      status: reply.statusCode,
      headers: withoutHopHeaders(reply.headers),
      body: Buffer.from(await reply.body.arrayBuffer()),
    }
  }

  const outer = createTlsServer(certificate, (request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const host = `localhost:${await listen(outer, port)}`
  const origin = `https://${host}`
  const insideAgent = new Agent()
  const inner = createServer()
  const close = async () => {
    await Promise.all([agent.destroy(), insideAgent.destroy(), stop(outer), stop(inner)])
  }
  t.after(close)
  inner.on('request', await inside(origin))
  const insideOrigin = `http://127.0.0.1:${await listen(inner, 0)}`

  return {
    origin,
    host,
    calls,
    secrets,
    fault: faults.raise,
    fetch: (input, init) => fetch(input, { ...init, dispatcher: agent }),
    close,
  }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

function withoutHopHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || hopHeaders.includes(name) ? [] : [[name, value]],
    ),
  )
}
