import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEventsFrom } from '../server/testkit/event-reader.ts'
import { signIn } from './person.ts'
import { startService } from './running-service.ts'
import { waysToWorkers } from './workers.ts'

test('a change in one process is streamed by another, and stopping does not wait for streams', async (t) => {
  // If stopping waited for the streams, it would take five minutes.
  const service = await startService(t, 'sqlite', { SALLYPORT_WORKERS: '2', SALLYPORT_STOP_SECONDS: '300' })
  const { token } = await signIn(service)
  const place = { port: service.port, host: `localhost:${service.port}` }
  const readers = [await readEventsFrom(t, place, { token }), await readEventsFrom(t, place, { token })]
  for (const reader of readers) assert.equal((await reader.next())?.event, 'ready')
  // Make the change through each worker: both streams have to get it, whichever worker serves them.
  for (const call of (await waysToWorkers(service, 2)).values()) {
    assert.equal((await call('POST', '/v4/devices/pairing-codes', { token })).status, 201)
    for (const reader of readers) await reader.topics('activity')
  }
  service.signal('SIGTERM')
  for (const reader of readers) {
    assert.deepEqual((await reader.rest()).at(-1), { event: 'ended', data: { reason: 'stopping' } })
  }
  assert.deepEqual(await service.exited(), { code: 0, signal: null })
})
