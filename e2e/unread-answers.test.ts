import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'

/** Asks for the largest file there is, this many times at once, and reads nothing. */
async function askWithoutReading({ port }: RunningService, times: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`.repeat(times))
  return socket
}

const openFiles = ({ pid }: RunningService) => readdirSync(`/proc/${pid}/fd`).length

test(
  'a client that sends a thousand requests and reads no answer does not have a thousand files opened for it',
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

test('a connection on which nothing moves is let go', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_CONNECTION_IDLE_SECONDS: '1' })
  const socket = await askWithoutReading(service, 10)
  t.after(() => socket.destroy())
  // That the service closed it shows only to who reads on.
  await sleep(2_500)
  socket.resume()
  await eventually(() => socket.destroyed, 'the connection is still there')
})
