import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRawHttp, whole } from '../server/testkit/raw-http.ts'
import { startCalling } from './calling.ts'
import { eventually, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'

/** Requests the largest file this many times in one go, and reads nothing. */
async function askWithoutReading({ port }: RunningService, times: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET /docs/static/openapi-explorer.js HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`.repeat(times))
  return socket
}

const openFiles = ({ pid }: RunningService) => readdirSync(`/proc/${pid}/fd`).length

test(
  'a thousand requests without reading do not open a thousand files',
  { skip: process.platform !== 'linux' && 'open files are counted in /proc' },
  async (t) => {
    const service = await startService(t, 'sqlite')
    const before = openFiles(service)
    const sockets = [await askWithoutReading(service, 1000), await askWithoutReading(service, 1000)]
    t.after(() => {
      for (const socket of sockets) socket.destroy()
    })
    let most = 0
    for (let look = 0; look < 20; look++) {
      most = Math.max(most, openFiles(service) - before)
      await sleep(50)
    }
    assert.ok(most < 100, `${most} files`)
    assert.equal((await service.call('GET', '/healthz')).status, 200)
  },
)

test(
  'a stalled connection is closed',
  { skip: process.platform !== 'linux' && 'open files are counted in /proc' },
  async (t) => {
    const service = await startService(t, 'sqlite', { SALLYPORT_CONNECTION_IDLE_SECONDS: '1' })
    assert.equal((await service.call('GET', '/healthz')).status, 200)
    const before = openFiles(service)
    const socket = await askWithoutReading(service, 10)
    t.after(() => socket.destroy())
    await eventually(() => openFiles(service) > before, 'the connection was never there')
    // The client notices that the service closed the connection only when it reads.
    await eventually(() => openFiles(service) <= before, 'the connection is still there')
  },
)

const megabytesOf = ({ pid }: RunningService) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test(
  'thirty unread responses of 10 MiB stay within the memory limit, and others are served',
  { skip: process.platform !== 'linux' && 'memory is read from /proc' },
  async (t) => {
    // Each character takes six bytes in JSON.
    const large = whole('200 OK', ['content-type: text/plain'], Buffer.alloc(10_485_760, 1))
    const small = whole('200 OK', ['content-type: text/plain'], 'small')
    const upstream = await startRawHttp(t, ({ target }, socket) => socket.write(target === '/small' ? small : large))
    const { service, agent, grantId, admit, proxy } = await startCalling(t, 'sqlite', { hosts: [upstream.host] })
    const smallUrl = `https://${upstream.host}/small`
    assert.equal((await proxy(smallUrl)).status, 200)
    const other = await admit()
    const before = megabytesOf(service)
    const body = JSON.stringify({ grant_id: grantId, method: 'GET', url: `https://${upstream.host}/large` })
    const head = [
      'POST /v4/proxy HTTP/1.1',
      `Host: localhost:${service.port}`,
      `Authorization: Bearer ${agent.token}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    let most = 0
    const look = () => {
      most = Math.max(most, megabytesOf(service) - before)
    }
    for (let calls = 0; calls < 30; calls++) {
      const socket = connect({ port: service.port, host: '127.0.0.1' }).on('error', () => undefined)
      t.after(() => socket.destroy())
      socket.pause()
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
      await sleep(50)
      look()
    }
    await eventually(
      async () => (await proxy(smallUrl)).status === 429,
      'answers are made as often as they are asked for',
    )
    for (let calls = 0; calls < 20; calls++) {
      const call = { grant_id: other.grantId, method: 'GET', url: smallUrl }
      assert.equal((await service.call('POST', '/v4/proxy', { token: other.token, body: call })).status, 200)
      look()
    }
    t.diagnostic(`${Math.round(most)} MiB more`)
    assert.ok(most < 256, `${Math.round(most)} MiB more`)
  },
)
