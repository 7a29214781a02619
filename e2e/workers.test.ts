/** Several processes that share the port (SALLYPORT_WORKERS). */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { freePort } from '../server/testkit/ports.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import { startCalling } from './calling.ts'
import { eventually, runServer, settingsFor, startService, within } from './running-service.ts'
import type { Engine } from './running-service.ts'
import { isAlive, logLines, pidOf, waysToWorkers, workerOf } from './workers.ts'

const two = { SALLYPORT_WORKERS: '2' }

/** Responds immediately, but under /slow when told to, and under /stream it never ends. */
async function startUpstream(t: TestContext) {
  const certificate = await (await sharedAuthority()).issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
  const waiting: ServerResponse[] = []
  const { port } = await startTlsUpstream(t, certificate, ({ url }, response) => {
    if (url === '/slow') waiting.push(response)
    else if (url === '/stream') response.write('the first of it')
    else response.end('at once')
  })
  return { host: `localhost:${port}`, waiting }
}

async function startTwo(t: TestContext, engine: Engine) {
  const upstream = await startUpstream(t)
  const calling = await startCalling(t, engine, { hosts: [upstream.host], settings: two })
  const callTo = (path: string, more: object = {}) => ({
    token: calling.agent.token,
    body: { grant_id: calling.grantId, method: 'GET', url: `https://${upstream.host}${path}`, ...more },
  })
  return { ...upstream, ...calling, callTo, ways: await waysToWorkers(calling.service, 2) }
}

onBothDatabases('two workers', (engine) => {
  test('both take calls and share counts; a revocation through one ends calls of the other', async (t) => {
    const { service, host, callTo, ways, admit, personToken } = await startTwo(t, engine)
    for (const [pid, call] of ways) {
      const reply = await call('POST', '/v4/proxy', callTo('/'))
      assert.equal(reply.status, 200, reply.text)
      assert.equal(await workerOf(service, reply), pid)
    }
    for (const call of ways.values()) {
      const { status, text } = await call('GET', '/metrics', { token: service.adminToken })
      assert.equal(status, 200, text)
      assert.match(text, /^sallyport_proxy_calls_total\{outcome="answered",provider="[a-z-]+"\} 2$/m)
    }
    const [one, other] = [...ways.values()]
    const { token, grantId } = await admit()
    const body = { grant_id: grantId, method: 'GET', url: `https://${host}/stream`, stream: true }
    const stream = one?.('POST', '/v4/proxy', { token, body }).catch(() => 'broken off')
    await eventually(async () => {
      const { text } = await service.call('GET', '/metrics', { token: service.adminToken })
      return /^sallyport_proxy_calls_in_flight\S* 1$/m.test(text)
    }, 'the stream did not begin')
    const revoked = await other?.('POST', `/v4/grants/${grantId}/revoke`, { token: personToken })
    assert.equal(revoked?.status, 200, revoked?.text)
    await within(Promise.resolve(stream), 'the stream goes on')
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const heads = service.log.match(/sallyport-audit-head\.v1\.chn_\w+/g) ?? []
    assert.equal(new Set(heads).size, 2, 'each has a chain of its own')
    const verified = await runServer(t, ['audit', 'verify'], service.env)
    assert.equal(verified.code, 0, verified.stdout + verified.stderr)
  })
})

test('a killed worker is restarted, and the calls of the other continue', async (t) => {
  const { service, waiting, callTo, ways } = await startTwo(t, 'sqlite')
  const [[, call], [killed]] = [...ways] as [[number, typeof service.call], [number, typeof service.call]]
  const slow = call('POST', '/v4/proxy', callTo('/slow'))
  await eventually(() => waiting.length === 1, 'the call did not go out')
  process.kill(killed, 'SIGKILL')
  await eventually(
    () => service.log.includes('"msg":"a worker exited and is being restarted"'),
    'the restart was not logged',
  )
  await eventually(
    () => logLines(service).filter(({ msg }) => msg.startsWith('Server listening')).length === 3,
    'nobody took its place',
  )
  waiting[0]?.end('late')
  const reply = await slow
  assert.deepEqual([reply.status, reply.body.body], [200, 'late'])
  const replacement = [...(await waysToWorkers(service, 2)).keys()].find((pid) => !ways.has(pid))
  assert.ok(replacement !== undefined)
  process.kill(replacement, 'SIGKILL')
  await eventually(() => /"pause_ms":[1-9]/.test(service.log), 'who dies again at once is started again at once')
})

/** Long enough for the machine of the tests, short enough to wait for. */
const stuckSoon = { ...two, SALLYPORT_WORKER_STUCK_SECONDS: '6' }

test('a worker whose event loop stands still is reported, killed and replaced, while the other serves', async (t) => {
  const service = await startService(t, 'sqlite', stuckSoon)
  const ways = await waysToWorkers(service, 2)
  const [[, call], [stuck]] = [...ways] as [[number, typeof service.call], [number, typeof service.call]]
  process.kill(stuck, 'SIGSTOP')
  await eventually(async () => {
    const { status, body } = await call('GET', '/readyz')
    return status === 200 && body.silent_workers === 1
  }, 'it is not reported')
  const { status, text } = await call('GET', '/metrics', { token: service.adminToken })
  assert.equal(status, 200, 'its figures are not waited for')
  assert.match(text, /^sallyport_workers_silent 1$/m)
  await eventually(() => !isAlive(stuck), 'it was not killed')
  const last = logLines(service).findLast(({ msg }) => msg === 'a worker is stuck and is being killed')
  assert.deepEqual(last && [last.worker, last.level], [stuck, 'error'])
  await eventually(async () => {
    const figures = (await call('GET', '/metrics', { token: service.adminToken })).text
    return /^sallyport_workers_silent 0$/m.test(figures) && /^sallyport_workers_replaced 1$/m.test(figures)
  }, 'nobody took its place')
  await eventually(
    () => logLines(service).filter(({ msg }) => msg.startsWith('Server listening')).length === 3,
    'the new one does not listen',
  )
  const now = await waysToWorkers(service, 2)
  assert.ok(!now.has(stuck))
  assert.equal((await call('GET', '/readyz')).body.silent_workers, 0)
  assert.deepEqual(await service.stop(), { code: 0, signal: null })
})

test('no worker is killed after the machine slept, or the primary process alone stood still', async (t) => {
  const service = await startService(t, 'sqlite', stuckSoon)
  const workers = [...(await waysToWorkers(service, 2)).keys()]
  for (const sleeping of [[service.pid], [service.pid, ...workers]]) {
    for (const pid of sleeping) process.kill(pid, 'SIGSTOP')
    await sleep(8_000)
    for (const pid of sleeping) process.kill(pid, 'SIGCONT')
    await sleep(4_000)
    assert.ok(workers.every(isAlive))
  }
  assert.deepEqual([...(await waysToWorkers(service, 2)).keys()].sort(), workers.sort())
  assert.ok(!/is stuck|is being restarted/.test(service.log))
})

test('SIGTERM lets calls in flight of all workers end, even if workers get the signal too', async (t) => {
  const { service, waiting, callTo, ways } = await startTwo(t, 'sqlite')
  const slow = [...ways.values()].map((call) => call('POST', '/v4/proxy', callTo('/slow')))
  await eventually(() => waiting.length === 2, 'the calls did not go out')
  for (const pid of ways.keys()) process.kill(pid, 'SIGTERM')
  service.signal('SIGTERM')
  await eventually(
    () => logLines(service).filter(({ msg }) => msg === 'stopping').length === 3,
    'not everybody was told',
  )
  for (const response of waiting) response.end('late')
  for (const { status, body } of await Promise.all(slow)) assert.deepEqual([status, body.body], [200, 'late'])
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
})

test('a second signal ends all of them immediately', async (t) => {
  const { service, waiting, callTo, ways } = await startTwo(t, 'sqlite')
  const [[pid, call] = [0, service.call]] = ways
  const slow = call('POST', '/v4/proxy', callTo('/slow')).catch(() => 'broken off')
  await eventually(() => waiting.length === 1, 'the call did not go out')
  service.signal('SIGINT')
  await eventually(() => service.log.includes('"msg":"stopping"'), 'the signal was not seen')
  service.signal('SIGTERM')
  assert.deepEqual(await service.exited(), { code: 1, signal: null })
  assert.equal(await slow, 'broken off')
  await eventually(() => !isAlive(pid), 'a worker goes on')
})

test('workers do not outlive the primary process, and a restart has their port and records', async (t) => {
  const { service, waiting, callTo, ways } = await startTwo(t, 'sqlite')
  const { port } = service
  const slow = [...ways.values()].map((call) => call('POST', '/v4/proxy', callTo('/slow')).catch(() => 'broken off'))
  await eventually(() => waiting.length === 2, 'the calls did not go out')
  assert.deepEqual(await service.kill(), { code: null, signal: 'SIGKILL' })
  assert.deepEqual(await Promise.all(slow), ['broken off', 'broken off'])
  await eventually(() => ![...ways.keys()].some(isAlive), 'a worker goes on by itself')
  await service.startAgain()
  assert.equal(service.port, port)
  const { body } = await service.call('GET', '/v4/audit?event=proxy.attempt', { token: service.adminToken })
  assert.equal(body.records.length, 2)
  const verified = await runServer(t, ['audit', 'verify'], service.env)
  assert.equal(verified.code, 0, verified.stdout + verified.stderr)
})

test('with one worker there is one process', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_WORKERS: '1' })
  assert.equal((await service.call('GET', '/healthz')).status, 200)
  assert.equal(new Set(logLines(service).map(pidOf)).size, 1)
})

test('an error that stops workers from starting is printed once', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const taken = String((other.address() as AddressInfo).port)
  const settings = { ...(await settingsFor(t, 'sqlite', two)), SALLYPORT_LOG_LEVEL: 'error' }
  const words = `Port ${taken} is in use. Stop the process that uses it, or change PORT, SALLYPORT_METRICS_PORT or SALLYPORT_GATEWAY_PORT.\n`
  for (const change of [{ PORT: taken }, { SALLYPORT_METRICS_PORT: taken }]) {
    const { code, stdout, stderr } = await runServer(t, [], { ...settings, ...change })
    assert.deepEqual([code, stdout, stderr], [1, '', words])
  }
  const wrong = await runServer(t, [], { ...settings, SALLYPORT_WORKERS: '65' })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /^Setting: SALLYPORT_WORKERS: got "65"; .*\n$/)
})

test('metrics on a separate port are those of all workers', async (t) => {
  const port = await freePort()
  const service = await startService(t, 'sqlite', { ...two, SALLYPORT_METRICS_PORT: String(port) })
  const ways = await waysToWorkers(service, 2)
  for (const call of ways.values()) await call('GET', '/readyz')
  for (let look = 0; look < 2; look++) {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: 'close' } })
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /duration_seconds_count\{method="GET",route="\/readyz",status="200"\} 2$/m)
  }
})
