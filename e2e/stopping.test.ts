import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  // Answered by the same process on another connection: by then it has taken up the upload too.
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

test('SIGTERM lets a call in flight end, turns new ones away and exits with 0', async (t) => {
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

test('/readyz says on a kept connection that the service is stopping', async (t) => {
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

test('what hangs is cut off after SALLYPORT_STOP_SECONDS, and the exit is still 0', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_STOP_SECONDS: '1' })
  const upload = await beginUpload(service)
  service.signal('SIGTERM')
  assert.deepEqual(await upload.answers(1), [])
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
})

test('a second signal ends the service at once', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_STOP_SECONDS: '300' })
  const upload = await beginUpload(service)
  service.signal('SIGINT')
  await eventually(() => service.log.includes('"msg":"stopping"'), 'the signal was not seen')
  service.signal('SIGTERM')
  assert.deepEqual(await service.exited(), { code: 1, signal: null })
  assert.deepEqual(await upload.answers(1), [])
})

test('without a call in flight a stop takes no waiting, whatever connections idle', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_STOP_SECONDS: '300' })
  const idle = await Promise.all(Array.from({ length: 20 }, () => openSocket(service.port)))
  await service.register()
  service.signal('SIGTERM')
  // With 300 s to wait the harness would give up long before.
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
  for (const socket of idle) await socket.closed()
})
