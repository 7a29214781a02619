import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSocket } from './raw-socket.ts'
import { eventually, startService } from './running-service.ts'

const bodyBytes = 1_000_000

test('bodies that are on their way take no more memory than they may, and give it back', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_BODIES_IN_FLIGHT_BYTES: String(3 * bodyBytes) })
  const { token } = await service.register()
  await service.call('POST', '/v4/nothing', { body: { for: 'no route' } })
  const head = (framing: string) =>
    [
      'POST /v4/proxy HTTP/1.1',
      `Host: localhost:${service.port}`,
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      framing,
      '\r\n',
    ].join('\r\n')
  const held = await Promise.all(Array.from({ length: 3 }, () => openSocket(service.port)))
  for (const socket of held) socket.send(`${head(`Content-Length: ${bodyBytes}`)}{`)
  const body = JSON.stringify({ name: 'one more' })
  const register = () => service.call('POST', '/v4/agents/register', { body })
  await eventually(async () => (await register()).status === 429, 'bodies take what they want')
  const refused = await register()
  assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 200)

  // One in chunks may become as large as the route takes.
  held[0]?.destroy()
  await eventually(async () => (await register()).status === 201, 'a body that broke off keeps its memory')
  const chunked = await openSocket(service.port)
  chunked.send(`${head('Transfer-Encoding: chunked')}1\r\n{\r\n`)
  assert.deepEqual(
    (await chunked.answers(1)).map(({ status }) => status),
    [429],
  )

  for (const socket of [...held, chunked]) socket.destroy()
  await eventually(async () => (await register()).status === 201, 'bodies that are gone keep their memory')
})
