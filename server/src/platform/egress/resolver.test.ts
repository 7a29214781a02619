import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { startNameServer } from '../../../testkit/name-server.ts'
import type { Names } from '../../../testkit/name-server.ts'
import { Busy } from '../limits/semaphore.ts'
import type { LookupBounds } from './lookup-places.ts'
import { createLookupPlaces } from './lookup-places.ts'
import { createResolver } from './resolver.ts'

async function resolverFor(
  t: TestContext,
  names: Names,
  files: { hosts?: string; resolv?: string } = {},
  timeoutMs = 300,
  bounds: Partial<LookupBounds> = {},
) {
  const folder = temporaryFolder(t)
  const hostsFile = join(folder, 'hosts')
  const resolvConf = join(folder, 'resolv.conf')
  if (files.hosts !== undefined) writeFileSync(hostsFile, files.hosts)
  if (files.resolv !== undefined) writeFileSync(resolvConf, files.resolv)
  const server = await startNameServer(t, names)
  const lookup = createResolver({ servers: [server.address], hostsFile, resolvConf, timeoutMs, bounds })
  const resolve = async (name: string, asker = 'someone') => (await lookup(name, asker)).map(({ address }) => address)
  return { server, resolve, hostsFile }
}

test('a lookup returns all addresses of both families, IPv4 first', async (t) => {
  const { resolve } = await resolverFor(t, { 'a.example': ['2001:db8::1', '192.0.2.1', '192.0.2.2'] })
  assert.deepEqual(await resolve('a.example'), ['192.0.2.1', '192.0.2.2', '2001:db8::1'])
  assert.deepEqual(await resolve('A.Example.'), ['192.0.2.1', '192.0.2.2', '2001:db8::1'])
})

test('one address family is enough', async (t) => {
  const { resolve } = await resolverFor(t, { 'four.example': ['192.0.2.1'], 'six.example': ['2001:db8::1'] })
  assert.deepEqual(await resolve('four.example'), ['192.0.2.1'])
  assert.deepEqual(await resolve('six.example'), ['2001:db8::1'])
})

test('a name server that does not answer for IPv6 does not delay IPv4', async (t) => {
  const { resolve } = await resolverFor(t, { 'half.example': 'silent for IPv6' })
  assert.deepEqual(await resolve('half.example'), ['127.0.0.1'])
})

test('names whose servers do not answer do not delay other names', async (t) => {
  const silent = Array.from({ length: 100 }, (_, index) => `silent-${index}.example`)
  const names = Object.fromEntries(silent.map((name) => [name, 'silent' as const]))
  const { resolve } = await resolverFor(t, { ...names, 'a.example': ['192.0.2.1'] }, {}, 1_500)
  let ended = 0
  const waiting = silent.map((name) => resolve(name, `asker of ${name}`).catch(() => ended++))
  for (let turn = 0; turn < 3; turn++) assert.deepEqual(await resolve('a.example'), ['192.0.2.1'])
  assert.equal(ended, 0)
  await Promise.all(waiting)
  assert.equal(ended, silent.length)
})

test('one asker with thousands of silent names has a share of the look-ups, and others go on', async (t) => {
  const count = 2_000
  const silent = Array.from({ length: count }, (_, index) => `silent-${index}.example`)
  const names = Object.fromEntries(silent.map((name) => [name, 'silent' as const]))
  const bounds = { perAsker: 32, inAll: 64, maxWaitMs: 500 }
  const { server, resolve } = await resolverFor(t, { ...names, 'a.example': ['192.0.2.1'] }, {}, 800, bounds)
  let ended = 0
  const failures = silent.map((name) =>
    resolve(name, 'hostile').catch((error: unknown) => {
      if (!(error instanceof Busy)) ended++
      return error
    }),
  )
  assert.deepEqual(await resolve('a.example', 'other'), ['192.0.2.1'])
  const asked = new Set(server.asked.filter((query) => query.includes('silent')).map((query) => query.split(' ')[1]))
  assert.ok(asked.size - ended <= 32, `${asked.size - ended} names under way`)
  const errors = await Promise.all(failures)
  assert.ok(errors.filter((error) => error instanceof Busy).length >= count - 2 * 32)
  assert.deepEqual(await resolve('a.example', 'hostile'), ['192.0.2.1'], 'its places are free again')
})

test('look-ups of all askers together are limited too, and nothing is kept of those that are over', async () => {
  const places = createLookupPlaces({ perAsker: 2, inAll: 4, maxWaiting: 1, maxWaitMs: 50 })
  const frees = await Promise.all(['a', 'a', 'b', 'b'].map(places.take))
  for (const asker of ['a', 'c']) await assert.rejects(places.take(asker), Busy)
  const waiting = places.take('d')
  await assert.rejects(places.take('e'), Busy, 'the queue is full')
  frees[0]?.()
  frees[1]?.()
  ;(await waiting)()
  for (const free of frees) free()
  assert.equal(places.askers(), 0)
})

test('concurrent lookups are coalesced, and a failure is cached briefly', async (t) => {
  const { server, resolve } = await resolverFor(t, { 'a.example': ['192.0.2.1'] })
  await Promise.all(Array.from({ length: 50 }, () => resolve('a.example')))
  assert.deepEqual(server.asked.sort(), ['A a.example', 'AAAA a.example'])
  server.asked.length = 0
  for (let turn = 0; turn < 5; turn++) await assert.rejects(resolve('none.example'), { code: 'ENOTFOUND' })
  assert.deepEqual(server.asked.sort(), ['A none.example', 'AAAA none.example'])
})

test('a successful lookup is not cached', async (t) => {
  const { server, resolve } = await resolverFor(t, { 'a.example': ['192.0.2.1'] })
  await resolve('a.example')
  server.names['a.example'] = ['192.0.2.9']
  assert.deepEqual(await resolve('a.example'), ['192.0.2.9'])
})

test('the current hosts file comes first; localhost is loopback', async (t) => {
  const hosts =
    '# ours\n192.0.2.7  Listed.example other.example # both\n2001:db8::7 listed.example\nnonsense listed.example\n'
  const { server, resolve, hostsFile } = await resolverFor(t, {}, { hosts })
  assert.deepEqual(await resolve('listed.example'), ['192.0.2.7', '2001:db8::7'])
  assert.deepEqual(await resolve('other.example'), ['192.0.2.7'])
  assert.deepEqual(await resolve('localhost'), ['127.0.0.1', '::1'])
  assert.deepEqual(await resolve('app.localhost'), ['127.0.0.1', '::1'])
  assert.deepEqual(server.asked, [])
  writeFileSync(hostsFile, `${hosts}192.0.2.8 new.example localhost\n`)
  assert.deepEqual(await resolve('new.example'), ['192.0.2.8'])
  assert.deepEqual(await resolve('localhost'), ['192.0.2.8'])
})

test('a name that does not exist is looked up in the search domains', async (t) => {
  const names: Names = { 'db.cluster.local': ['10.0.0.1'], 'db.second.local': ['10.0.0.2'], 'a.example': ['192.0.2.1'] }
  const { server, resolve } = await resolverFor(t, names, {
    resolv: 'search old.local\nnameserver 192.0.2.53\nsearch cluster.local second.local\n',
  })
  assert.deepEqual(await resolve('db'), ['10.0.0.1'])
  server.asked.length = 0
  assert.deepEqual(await resolve('a.example'), ['192.0.2.1'])
  assert.deepEqual(server.asked.sort(), ['A a.example', 'AAAA a.example'], 'one that exists is not')
  await assert.rejects(resolve('none'), { code: 'ENOTFOUND' })
})

test('a changed resolv.conf takes effect immediately', async (t) => {
  const [here, there] = [
    await startNameServer(t, { 'a.example': ['192.0.2.1'], 'gone.example': 'silent' }),
    await startNameServer(t, { 'a.example': ['192.0.2.2'], 'gone.example': ['192.0.2.2'] }),
  ]
  const resolvConf = join(temporaryFolder(t), 'resolv.conf')
  const servers = [here.address]
  const lookup = createResolver({ servers, resolvConf, timeoutMs: 300 })
  const resolve = async (name: string) => (await lookup(name, 'someone')).map(({ address }) => address)
  assert.deepEqual(await resolve('a.example'), ['192.0.2.1'], 'there need be no such file')
  const late = assert.rejects(resolve('gone.example'), { code: 'ETIMEOUT' })
  servers[0] = there.address
  writeFileSync(resolvConf, 'nameserver 192.0.2.53\n')
  assert.deepEqual(await resolve('a.example'), ['192.0.2.2'])
  await late
  assert.deepEqual(await resolve('gone.example'), ['192.0.2.2'], 'what failed before says nothing of the new ones')
})
