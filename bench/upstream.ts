/**
 * The API at the end of every call: TLS on loopback, with prepared responses. One process, shared by all contenders.
 */
import { once } from 'node:events'
import { createServer } from 'node:https'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

process.on('disconnect', () => process.exit())
const [certFile = '', keyFile = '', moreAddresses = ''] = process.argv.slice(2)
const mebibyte = 1024 ** 2

const small = JSON.stringify({
  id: 4711,
  full_name: 'acme/rocket',
  private: false,
  html_url: 'https://acme.example/acme/rocket',
  description: 'Goes up, and as a rule comes down',
  stargazers_count: 128,
  pushed_at: '2026-11-15T12:00:00Z',
})

/** In the shape of the relay's response, for nginx, which passes it on unchanged. */
const enveloped = `{"status":200,"headers":{"content-type":"application/json"},"body":${small},"body_encoding":"json"}`

/** Ordinary JSON: names, numbers, sentences, a link now and then. */
const large = JSON.stringify(
  Array.from({ length: 4600 }, (_, index) => ({
    id: index * 7919,
    title: `Issue ${index}: the door does not close behind the last one`,
    state: index % 3 === 0 ? 'open' : 'closed',
    url: `https://acme.example/issues/${index}`,
    labels: ['bug', 'help wanted'],
    body: 'It was seen on two machines.\n"Twice", they said.',
  })),
).slice(0, mebibyte + 40)

/** Valid JSON in which every character is an escape: the most that a redactor can be made to decode. */
const escapes = `"${'\\u0061\\u0042\\u0037'.repeat(Math.floor(mebibyte / 18))}"`

const answers: Record<string, Buffer> = {
  '/small': Buffer.from(small),
  '/enveloped': Buffer.from(enveloped),
  '/large': Buffer.from(`${large.slice(0, large.lastIndexOf('},{'))}}]`),
  '/escapes': Buffer.from(escapes),
}

const piece = Buffer.alloc(65_536, 'data: {"delta":"and so on, and so forth"}\n\n')

const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
// As long as common web servers keep idle connections: every account has its own connection and uses it rarely.
const serve = (request: IncomingMessage, response: ServerResponse) => {
  const { authorization = '', 'x-api-key': key } = request.headers
  const [path = '', query] = (request.url ?? '').split('?')
  if (!/^(?:Bearer|Basic|AWS4-HMAC-SHA256) /.test(authorization) && !(key ?? query)) {
    response.writeHead(401).end()
    return
  }
  if (path === '/sink') {
    count(request, response)
    return
  }
  const answer = answers[path]
  if (!answer) {
    stream(request, response)
    return
  }
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer)
}

/** At this address, and at the others with the same port. */
const listenAt = async (address: string, port: number) => {
  const server = createServer({ ...tls, keepAliveTimeout: 75_000 }, serve).listen(port, address)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
const port = await listenAt('127.0.0.1', 0)
for (const address of moreAddresses.split(',').filter(Boolean)) await listenAt(address, port)
process.send?.({ port })

function count(request: IncomingMessage, response: ServerResponse): void {
  let received = 0
  request.on('data', (chunk: Buffer) => (received += chunk.length))
  request.on('end', () =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ received })),
  )
}

/** `/stream/1024` sends that many bytes in chunks, as fast as they are read. */
function stream(request: IncomingMessage, response: ServerResponse): void {
  let left = Number(/^\/stream\/(\d+)$/.exec(request.url ?? '')?.[1] ?? 0)
  response.writeHead(left === 0 ? 404 : 200, { 'content-type': 'text/event-stream' })
  const push = () => {
    while (left > 0) {
      const next = left < piece.length ? piece.subarray(0, left) : piece
      left -= next.length
      if (!response.write(next)) {
        response.once('drain', push)
        return
      }
    }
    response.end()
  }
  push()
}
