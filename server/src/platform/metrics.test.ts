import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../testkit/service.ts'

test('answers are counted by route, so that callers can not make up time series', async (t) => {
  const service = await startService(t, 'sqlite')
  await service.call('GET', '/healthz')
  await service.call('GET', '/made-up-by-a-caller')
  await service.call('GET', '/v4/agents/made-up-by-a-caller/x')
  const text = await service.app.metrics.registry.metrics()
  assert.match(text, /sallyport_http_request_duration_seconds_count\{method="GET",route="\/healthz",status="200"\} 1/)
  assert.ok(!text.includes('made-up-by-a-caller'))
})
