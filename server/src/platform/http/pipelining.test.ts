import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createLog } from '../operations/log.ts'
import { createHttpListener } from './listener.ts'

const timeouts = {
  headersTimeoutSeconds: 10,
  requestTimeoutSeconds: 10,
  connectionIdleSeconds: 10,
  unreadAnswerSeconds: 10,
  keepAliveSeconds: 65,
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

async function listen(t: TestContext, listener: RequestListener): Promise<() => Promise<Socket>> {
  const server = createHttpListener(timeouts, createLog({ logLevel: 'silent', logFormat: 'json' }), listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
}

async function receive(socket: Socket, pattern: RegExp): Promise<string> {
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (pattern.test(text)) break
  }
  return text
}

test('pipelined requests are processed one at a time', async (t) => {
  const begun: string[] = []
  const answers: ServerResponse[] = []
  const open = await listen(t, ({ url = '' }, response) => {
    begun.push(url)
    if (url === '/other') response.end()
    else answers.push(response)
  })
  const socket = await open()
  socket.write(get('/1') + get('/2') + get('/3'))
  await receive((await open()).end(get('/other')), /200 OK/)
  assert.deepEqual(
    begun.filter((url) => url !== '/other'),
    ['/1'],
  )
  const received = receive(socket, /three/)
  for (const text of ['one', 'two', 'three']) {
    const next = answers.shift() as ServerResponse
    next.end(text)
    await once(next, 'close')
  }
  assert.match(await received, /one[^]*two[^]*three/)
  assert.deepEqual(
    begun.filter((url) => url !== '/other'),
    ['/1', '/2', '/3'],
  )
})

test('queued requests of a client that disconnects are not started', async (t) => {
  const begun: string[] = []
  const first = Promise.withResolvers<ServerResponse>()
  const open = await listen(t, ({ url = '' }, response) => {
    begun.push(url)
    first.resolve(response)
  })
  const socket = await open()
  socket.write(get('/1') + get('/2'))
  const response = await first.promise
  socket.resetAndDestroy()
  await once(response, 'close')
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['/1'])
})

test('bodies of queued requests are read when the request starts', async (t) => {
  const bodies: string[] = []
  const open = await listen(t, (request, response) => {
    const read = async () => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      bodies.push(body)
      response.end(`answer to ${body.slice(0, 3)}`)
    }
    void read()
  })
  const socket = await open()
  const texts = ['one', 'two'.repeat(50_000), 'three']
  for (const text of texts) socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${text.length}\r\n\r\n${text}`)
  await receive(socket, /answer to thr/)
  assert.deepEqual(bodies, texts)
})
