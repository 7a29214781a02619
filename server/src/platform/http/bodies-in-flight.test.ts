import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startService } from '../../../testkit/service.ts'

test('who hangs up before the body is due leaves its room to others', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_BODIES_IN_FLIGHT_BYTES: '100000' })
  const { http } = service.app
  const asked = Promise.withResolvers<undefined>()
  const over = Promise.withResolvers<undefined>()
  // As long as a database takes that has much to do.
  http.addHook('onRequest', async ({ raw, headers }) => {
    if (headers['content-length'] !== '99999') return
    asked.resolve(undefined)
    await once(raw.socket, 'close')
    await sleep(10)
    over.resolve(undefined)
  })
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const head = [
    'POST /v4/agents/register HTTP/1.1',
    `host: ${service.config.baseUrl.host}`,
    'content-type: application/json',
    'content-length: 99999',
  ]
  const socket = connect(port, '127.0.0.1')
  socket.write(`${head.join('\r\n')}\r\n\r\n{`)
  await asked.promise
  socket.destroy()
  await over.promise
  await sleep(10)
  assert.equal((await service.call('POST', '/v4/agents/register', { body: { name: 'an agent' } })).status, 201)
})
