/** Connection pools: who shares sockets, how many there are, and that a request is sent once. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { testEgress } from '../../../testkit/egress.ts'
import { startRawTls, startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import { createDestinations } from './destinations.ts'
import type { Egress, EgressRequest } from './egress.ts'
import { createPools } from './pools.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example'] })

function open(t: TestContext, bounds = { maxSocketsPerPool: 8, maxSockets: 100 }): Egress {
  return testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem, bounds })
}

function caller(egress: Egress, { port }: { port: number }) {
  return async (pool: string, more: Partial<EgressRequest> = {}): Promise<string> => {
    const { body } = await egress.collect({
      ...{ url: new URL(`https://api.example:${port}/`), method: 'GET', headers: [], body: undefined },
      ...{ suppliedBy: 'operator', pool, ...more },
    })
    return body.toString()
  }
}

/** Waits until the condition is true, and fails after a while. */
async function until(isSo: () => boolean): Promise<void> {
  for (let times = 0; times < 500 && !isSo(); times++) await sleep(10)
  assert.ok(isSo(), isSo.toString())
}

/** A server that responds only when told. */
async function startHolding(t: TestContext) {
  const held: ServerResponse[] = []
  const upstream = await startTlsUpstream(t, certificate, (_request, response) => {
    held.push(response)
  })
  const answerOne = async () => {
    await until(() => held.length > 0)
    held.shift()?.end('hello')
  }
  return { ...upstream, held, answerOne }
}

/** The lengths of long arrays in an object, to a limited depth. */
function arraysLongerThan(length: number, thing: object, depth = 5): number[] {
  const members = Reflect.ownKeys(thing).map((name) => (thing as Record<PropertyKey, unknown>)[name])
  return members.flatMap((member) => {
    if (Array.isArray(member) && member.length > length) return [member.length]
    const isObject = typeof member === 'object' && member !== null
    return isObject && depth > 1 ? arraysLongerThan(length, member, depth - 1) : []
  })
}

test('sockets are shared only within a pool', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const call = caller(open(t), upstream)
  for (let times = 0; times < 3; times++) {
    await call('alice')
    await sleep(5)
  }
  assert.equal(upstream.connections(), 1)
  await call('bob')
  assert.equal(upstream.connections(), 2)
  await call('alice')
  await call('')
  assert.equal(upstream.connections(), 3)
})

test('a pool takes little memory, as each account has one', (t) => {
  const bounds = { maxSocketsPerPool: 8, maxSockets: 100 }
  const lookup = () => Promise.resolve([])
  const destinations = createDestinations([], lookup)
  const pools = createPools({ destinations, lookup, ca: undefined, connectMs: 1000, bounds })
  t.after(() => pools.close())
  const origin = 'https://api.example'
  const shared = pools.enter({ origin, suppliedBy: 'operator', protocol: 'either', name: 'alice' })
  // undici's own queue has 2,048 places from the start: 16 KB.
  assert.deepEqual(arraysLongerThan(100, shared), [])
  assert.ok(arraysLongerThan(100, new Pool(origin)).includes(2048), 'this test would not see it')
})

test('a pool without sockets is removed', async (t) => {
  const sockets: Socket[] = []
  const upstream = await startTlsUpstream(t, certificate, (request, response) => {
    sockets.push(request.socket)
    response.end('hello')
  })
  const egress = open(t)
  const call = caller(egress, upstream)
  await Promise.all(Array.from({ length: 40 }, (_, index) => call(`pool ${index}`)))
  assert.deepEqual(egress.size(), { pools: 40, sockets: 40 })
  for (const socket of sockets) socket.destroy()
  await until(() => egress.size().sockets === 0)
  assert.deepEqual(egress.size(), { pools: 0, sockets: 0 })
})

test('a call that fails before it is sent leaves no pool behind', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const egress = open(t)
  const call = caller(egress, upstream)
  await assert.rejects(call('one', { headers: [['a b', 'c']] }), /can not be sent/)
  await assert.rejects(call('two', { signal: AbortSignal.abort(new Error('gone')) }), /gone/)
  const refusing = testEgress(t, { allow: [] })
  await assert.rejects(caller(refusing, upstream)('three'), { code: 'address_not_allowed' })
  await until(() => refusing.size().pools === 0)
  await until(() => egress.size().pools === 0)
  assert.equal(upstream.connections(), 0)
})

test('a request that cannot be sent does not block the next one', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const call = caller(open(t, { maxSocketsPerPool: 1, maxSockets: 9 }), upstream)
  for (let times = 0; times < 3; times++) {
    assert.equal(await call('one'), 'hello')
    await assert.rejects(call('one', { headers: [['x-a', 'b\nc']] }), /can not be sent/)
  }
})

test('a pool is limited in sockets, and its calls queue for them', async (t) => {
  const upstream = await startHolding(t)
  const call = caller(open(t, { maxSocketsPerPool: 2, maxSockets: 100 }), upstream)
  const calls = Array.from({ length: 6 }, () => call('one'))
  await until(() => upstream.held.length === 2)
  for (let times = 0; times < 6; times++) await upstream.answerOne()
  assert.deepEqual(new Set(await Promise.all(calls)), new Set(['hello']))
  assert.equal(upstream.connections(), 2)
})

test('at the total limit, the pool that is idle longest is closed', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const egress = open(t, { maxSocketsPerPool: 2, maxSockets: 3 })
  const call = caller(egress, upstream)
  for (const pool of ['a', 'b', 'c', 'a']) await call(pool)
  assert.deepEqual(egress.size(), { pools: 3, sockets: 3 })
  await call('d')
  assert.deepEqual(egress.size(), { pools: 3, sockets: 3 })
  const opened = upstream.connections()
  for (const pool of ['a', 'c', 'd']) await call(pool)
  assert.equal(upstream.connections(), opened, 'b was the longest idle')
})

test('if all sockets are in use, a call waits for one up to the connect timeout', async (t) => {
  const upstream = await startHolding(t)
  const egress = open(t, { maxSocketsPerPool: 2, maxSockets: 2 })
  const call = caller(egress, upstream)
  const busy = [call('a'), call('b')]
  await until(() => upstream.held.length === 2)
  await assert.rejects(call('c', { limits: { connectMs: 50 } }), {
    code: 'upstream_timeout',
    detail: `api.example:${upstream.port}: no connection in time`,
  })
  const waiting = call('d')
  await sleep(20)
  assert.equal(upstream.connections(), 2)
  await upstream.answerOne()
  await upstream.answerOne()
  await upstream.answerOne()
  assert.deepEqual(await Promise.all([...busy, waiting]), ['hello', 'hello', 'hello'])
})

test('a waiting call gets the socket of an idle pool immediately', async (t) => {
  // It sends no Keep-Alive timeout, so our sockets would stay open for half a minute.
  const upstream = await startRawTls(t, certificate, (socket) => {
    socket.on('data', () => {
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'), 50)
    })
  })
  const egress = open(t, { maxSocketsPerPool: 1, maxSockets: 1 })
  const call = caller(egress, upstream)
  const calls = ['a', 'b', 'c'].map((pool) => call(pool, { limits: { connectMs: 2000 } }))
  assert.deepEqual(await Promise.all(calls), ['hello', 'hello', 'hello'])
  assert.deepEqual(egress.size(), { pools: 1, sockets: 1 })
  // Without a waiting call it stays open.
  await call('c')
  assert.equal(upstream.connections(), 3)
})

test('a pool gets no new calls after a timeout', async (t) => {
  const upstream = await startHolding(t)
  const call = caller(open(t), upstream)
  const slow = call('one')
  await until(() => upstream.held.length === 1)
  await assert.rejects(call('one', { limits: { firstByteMs: 50 } }), { code: 'upstream_timeout' })
  const after = call('one')
  await until(() => upstream.connections() === 3)
  upstream.held.splice(1, 1)
  await upstream.answerOne()
  await upstream.answerOne()
  assert.deepEqual(await Promise.all([slow, after]), ['hello', 'hello'])
})

for (const method of ['GET', 'POST']) {
  const body = method === 'POST' ? Buffer.from('{"a":1}') : undefined

  test(`${method} on a socket that closed or broke while idle is sent on another`, async (t) => {
    const sockets: Socket[] = []
    const upstream = await startTlsUpstream(t, certificate, (request, response) => {
      sockets.push(request.socket)
      response.end('hello')
    })
    const call = caller(open(t, { maxSocketsPerPool: 1, maxSockets: 9 }), upstream)
    // The other side has disconnected, and this process has not noticed yet.
    for (const hangUp of [() => sockets.at(-1)?.end(), () => sockets.at(-1)?.destroy(), upstream.reset]) {
      const sent = upstream.requests.length
      for (let times = 0; times < 10; times++) {
        await call('one', { method, body })
        await sleep(times)
        hangUp()
      }
      assert.equal(upstream.requests.length, sent + 10)
    }
  })

  test(`${method} that may have reached the server is never retried`, async (t) => {
    let seen = 0
    const upstream = await startRawTls(t, certificate, (socket) => {
      let ofSocket = 0
      socket.on('data', (bytes) => {
        if (!bytes.includes(`${method} /`)) return
        seen++
        ofSocket++
        if (ofSocket === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello')
        else if (seen % 4 === 0) socket.end()
        else upstream.reset()
      })
    })
    const call = caller(open(t, { maxSocketsPerPool: 1, maxSockets: 9 }), upstream)
    for (let times = 1; times <= 4; times++) {
      assert.equal(await call('one', { method, body }), 'hello')
      await assert.rejects(call('one', { method, body }), { code: 'upstream_unreachable' })
      assert.equal(seen, 2 * times)
      assert.equal(upstream.connections(), times)
    }
  })
}
