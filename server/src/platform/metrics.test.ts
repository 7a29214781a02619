import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentInSandbox } from '../../testkit/sandbox.ts'
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

test('calls are counted by outcome, with what was taken out of their answers and how many are under way', async (t) => {
  const service = await startService(t, 'sqlite')
  const { proxy } = await agentInSandbox(service)
  await proxy()
  await proxy({ url: 'https://elsewhere.example/' })
  const text = await service.app.metrics.registry.metrics()
  for (const line of [
    'sallyport_proxy_calls_total{outcome="answered"} 1',
    'sallyport_proxy_calls_total{outcome="refused"} 1',
    'sallyport_redactions_total 1',
    'sallyport_proxy_call_duration_seconds_count 1',
    'sallyport_proxy_calls_in_flight 0',
  ]) {
    assert.ok(text.includes(line), line)
  }
})
