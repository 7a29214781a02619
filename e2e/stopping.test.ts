import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { startRawHttp } from '../server/testkit/raw-http.ts'
import { startCalling } from './calling.ts'
import { openSocket } from './raw-socket.ts'
import { eventually, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'

const body = JSON.stringify({ text: 'sent in two pieces' })

/** A call to the echo whose body stays unfinished until its second half is sent. */
async function beginUpload(service: RunningService) {
  const socket = await openSocket(service.port)
  const head = [
    'POST /v4/sandbox/echo HTTP/1.1',
    `Host: localhost:${service.port}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  socket.send(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
  // A response by the same process on another connection: by then it has accepted the upload too.
  await service.call('GET', '/healthz')
  return {
    finish: async () => {
      socket.send(body.slice(10))
      return socket.answers(1)
    },
    answers: socket.answers,
  }
}

async function isRefused(service: RunningService): Promise<boolean> {
  return openSocket(service.port).then(
    (socket) => {
      socket.destroy()
      return false
    },
    () => true,
  )
}

test('SIGTERM lets a call in flight end, refuses new ones and exits with 0', async (t) => {
  const service = await startService(t, 'sqlite')
  const upload = await beginUpload(service)
  service.signal('SIGTERM')
  await eventually(() => service.log.includes('"msg":"stopping"'), 'the signal was not seen')
  await eventually(() => isRefused(service), 'new connections are still taken')
  const [answer] = await upload.finish()
  assert.equal(answer?.status, 200)
  assert.deepEqual(JSON.parse(answer.text).body, JSON.parse(body))
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
  assert.match(service.log, /"msg":"stopped"/)
})

test('/readyz reports on a kept-alive connection that the service is stopping', async (t) => {
  const service = await startService(t, 'sqlite')
  const kept = await openSocket(service.port)
  const probe = `Host: localhost:${service.port}\r\n\r\n`
  const upload = await beginUpload(service)
  kept.send(`GET /readyz HTTP/1.1\r\n${probe}`)
  assert.equal((await kept.answers(1))[0]?.status, 200)
  // The next request has begun when the signal comes, so the connection is not idle.
  kept.send('GET /readyz HTTP/1.1\r\n')
  await service.call('GET', '/healthz')
  service.signal('SIGTERM')
  await eventually(() => service.log.includes('"msg":"stopping"'), 'the signal was not seen')
  kept.send(probe)
  const [answer] = await kept.answers(1)
  assert.equal(answer?.status, 503)
  assert.equal(JSON.parse(answer.text).error.code, 'not_ready')
  await upload.finish()
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
})

test('calls that hang are cut off after SALLYPORT_STOP_SECONDS, and the exit code is still 0', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_STOP_SECONDS: '1' })
  const upload = await beginUpload(service)
  service.signal('SIGTERM')
  assert.deepEqual(await upload.answers(1), [])
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
})

test('a second signal ends the service immediately', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_STOP_SECONDS: '300' })
  const upload = await beginUpload(service)
  service.signal('SIGINT')
  await eventually(() => service.log.includes('"msg":"stopping"'), 'the signal was not seen')
  service.signal('SIGTERM')
  assert.deepEqual(await service.exited(), { code: 1, signal: null })
  assert.deepEqual(await upload.answers(1), [])
})

test('without a call in flight stopping does not wait for idle connections', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_STOP_SECONDS: '300' })
  const idle = await Promise.all(Array.from({ length: 20 }, () => openSocket(service.port)))
  await service.register()
  service.signal('SIGTERM')
  // With a wait of 300 s the test would time out long before.
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
  for (const socket of idle) await socket.closed()
})

test('with SALLYPORT_DRAIN_SECONDS new connections are served after the signal, and /readyz says 503', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_DRAIN_SECONDS: '3' })
  service.signal('SIGTERM')
  await eventually(() => service.log.includes('"msg":"stopping"'), 'the signal was not seen')
  assert.equal((await service.call('GET', '/readyz')).status, 503)
  assert.equal(await isRefused(service), false)
  assert.match((await service.register()).token, /^sp_agent_/)
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
})

test('other signals are ignored, and none opens the debugger', async (t) => {
  const service = await startService(t, 'sqlite')
  for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) {
    service.signal(signal)
    await eventually(() => service.log.includes(`"signal":"${signal}"`), `${signal} was not seen`)
    assert.equal((await service.call('GET', '/healthz')).status, 200)
  }
  assert.doesNotMatch(service.log, /Debugger/)
})

onBothDatabases('calls that are cut off by stopping', (engine) => {
  test('have their outcome recorded, buffered and streamed', async (t) => {
    const upstream = await startRawHttp(t, ({ target }, socket) => {
      if (target === '/stream') socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
    })
    const settings = { SALLYPORT_STOP_SECONDS: '0' }
    const { service, agent, proxy } = await startCalling(t, engine, { hosts: [upstream.host], settings })
    const paths = ['/silent', '/stream', '/silent', '/stream']
    const calls = paths.map((path) =>
      proxy(`https://${upstream.host}${path}`, { stream: path === '/stream', timeout_ms: 60_000 }).catch(
        () => 'cut off',
      ),
    )
    await eventually(() => upstream.requests.length === paths.length, 'the calls did not go out')
    service.signal('SIGTERM')
    assert.deepEqual(await service.exited(), { code: 0, signal: null })
    await Promise.all(calls)
    await service.startAgain()
    const { body } = await service.call('GET', '/v4/audit?event=proxy.attempt', { token: agent.token })
    const { records } = body as { records: { outcome: string; result: { code: string } }[] }
    assert.deepEqual(
      records.map(({ outcome, result }) => `${outcome}: ${result.code}`),
      paths.map(() => 'failed: service_stopped'),
    )
  })
})
