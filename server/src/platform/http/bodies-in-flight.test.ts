import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startListening } from '../../../testkit/raw-client.ts'
import type { RawConnection } from '../../../testkit/raw-client.ts'
import type { TestService } from '../../../testkit/service.ts'

const json = 'Content-Type: application/json'
const register = 'POST /v4/agents/register HTTP/1.1'
const ask = 'POST /v4/access-requests HTTP/1.1'

async function start(t: TestContext, settings: Record<string, string> = {}) {
  const { service, open, head } = await startListening(t, 'sqlite', {
    SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000',
    ...settings,
  })
  /** Sends a request's head and the first bytes of a body that never ends. */
  const hold = async (bytes: number, line: string, ...headers: string[]): Promise<RawConnection> => {
    const connection = await open()
    connection.send(head(line, json, 'Content-Length: 250000', ...headers) + beginning(bytes))
    return connection
  }
  return { service, open, head, hold }
}

/** If several exceed the limit together, the last one is refused. */
const firstAnswer = (connections: RawConnection[]) => Promise.race(connections.map(({ received }) => received()))

const beginning = (bytes: number) => `{"a":"${'a'.repeat(bytes - 6)}`

const registers = async ({ call }: TestService) =>
  (await call('POST', '/v4/agents/register', { body: { name: 'a' } })).status

/** The body has only unknown members, so a 400 shows that it was read. */
const sends = async ({ call }: TestService, token: string, bytes: number) =>
  (await call('POST', '/v4/access-requests', { token, body: `${beginning(bytes - 2)}"}` })).status

test('announced bodies that are not sent do not count', async (t) => {
  const { service, open, head } = await start(t)
  const { token } = await service.registerAgent()
  const bearer = `Authorization: Bearer ${token}`
  const heads = [
    ...Array<string>(260).fill(head('POST /v1/kv/save HTTP/1.1', json, 'Content-Length: 2097152')),
    head('POST /v1/kv/save HTTP/1.1', json, 'Transfer-Encoding: chunked'),
    head(register, json, 'Content-Length: 262144'),
    head('POST /v4/sandbox/echo HTTP/1.1', json, 'Transfer-Encoding: chunked'),
    ...Array<string>(40).fill(head('POST /v4/proxy HTTP/1.1', bearer, json, 'Content-Length: 10485760')),
    head(ask, bearer, json, 'Transfer-Encoding: chunked'),
  ]
  let arrived = 0
  service.app.http.server.on('request', () => arrived++)
  for (const text of heads) (await open()).send(text)
  while (arrived < heads.length) await sleep(5)
  assert.equal(await registers(service), 201)
  assert.equal(await sends(service, token, 200_000), 400)
})

test('received bytes count for their caller until the call ends', async (t) => {
  const { service, hold } = await start(t, {
    SALLYPORT_BODIES_IN_FLIGHT_BYTES: '1000000',
    SALLYPORT_BODIES_IN_FLIGHT_PER_CALLER_BYTES: '200000',
  })
  const [agent, other] = [await service.registerAgent(), await service.registerAgent()]
  const bearer = `Authorization: Bearer ${agent.token}`
  const held = await Promise.all([1, 2, 3].map(() => hold(90_000, ask, bearer)))
  const refused = await firstAnswer(held)
  assert.match(refused, /^HTTP\/1\.1 429 [^]*"code":"rate_limited"/)
  assert.match(refused, /\r\nretry-after: 1\r\n/)
  assert.match(refused, /\r\nconnection: close\r\n/)
  assert.equal((await service.call('GET', '/v4/agents/me', { token: agent.token })).status, 200)
  assert.equal(await sends(service, other.token, 150_000), 400)
  assert.equal(await registers(service), 201)
  for (const { socket } of held) socket.destroy()
  while ((await sends(service, agent.token, 190_000)) === 429) await sleep(5)
  assert.equal(await sends(service, agent.token, 190_000), 400)
})

test('callers without a credential share a quarter of the limit, with a share per address', async (t) => {
  const { service, hold } = await start(t, {
    SALLYPORT_BODIES_IN_FLIGHT_BYTES: '1600000',
    SALLYPORT_TRUST_PROXY: '127.0.0.1',
  })
  const { token } = await service.registerAgent()
  const from = (address: string) => `X-Forwarded-For: ${address}`
  const inOne64 = ['2001:db8::1', '2001:db8::2'].map((address) => hold(90_000, register, from(address)))
  assert.match(await firstAnswer(await Promise.all(inOne64)), /^HTTP\/1\.1 429 /)
  const inAll = [1, 2, 3, 4, 5].map((last) => hold(99_000, register, from(`192.0.2.${last}`)))
  assert.match(await firstAnswer(await Promise.all(inAll)), /^HTTP\/1\.1 429 /)
  assert.equal(await sends(service, token, 240_000), 400)
})

test("an agent's limit of calls in flight applies before bodies are read", async (t) => {
  const { service, open, head } = await start(t, { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '2' })
  const [agent, other] = [await service.registerAgent(), await service.registerAgent()]
  const line = 'POST /v4/proxy HTTP/1.1'
  const bearer = `Authorization: Bearer ${agent.token}`
  const held = await Promise.all([1, 2, 3].map(() => open()))
  for (const { send } of held) send(head(line, bearer, json, 'Content-Length: 250000', 'Connection: close'))
  assert.match(await firstAnswer(held), /^HTTP\/1\.1 429 [^]*"code":"rate_limited"/)
  const call = { body: { grant_id: 'grt_00000000000000000000000000', method: 'GET', url: 'https://a.example/' } }
  assert.equal((await service.call('POST', '/v4/proxy', { token: other.token, ...call })).status, 404)
  for (const { socket } of held) socket.destroy()
  const again = () => service.call('POST', '/v4/proxy', { token: agent.token, ...call })
  while ((await again()).status === 429) await sleep(5)
  assert.equal((await again()).status, 404)
})

test('a client that disconnects early frees its share', async (t) => {
  const over = Promise.withResolvers<undefined>()
  const prepare = ({ app }: TestService) => {
    // As long as a busy database takes.
    app.http.addHook('onRequest', async ({ raw, headers }) => {
      if (headers['content-length'] !== '49999') return
      await once(raw.socket, 'close')
      await sleep(10)
      over.resolve(undefined)
    })
  }
  const room = { SALLYPORT_BODIES_IN_FLIGHT_BYTES: '800000' }
  const { service, open, head } = await startListening(t, 'sqlite', room, prepare)
  const { socket, send } = await open()
  send(head(register, json, 'Content-Length: 49999') + beginning(49_000))
  await sleep(10)
  socket.destroy()
  await over.promise
  await sleep(10)
  const body = { name: 'a', metadata: { a: 'a'.repeat(48_000) } }
  assert.notEqual((await service.call('POST', '/v4/agents/register', { body })).status, 429)
})
