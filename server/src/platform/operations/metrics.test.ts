import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startCalling } from '../../../testkit/calling.ts'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { agentInSandbox } from '../../../testkit/sandbox.ts'
import { startService } from '../../../testkit/service.ts'
import type { Standing } from '../../grants/standing.ts'
import { createAgentLoad } from '../../proxy/load.ts'
import { measureCalls } from '../../proxy/proxy-metrics.ts'
import { createMetrics } from './metrics.ts'

test('responses are counted by route, so that callers cannot create time series', async (t) => {
  const service = await startService(t, 'sqlite')
  await service.call('GET', '/healthz')
  await service.call('GET', '/made-up-by-a-caller')
  await service.call('GET', '/v4/agents/made-up-by-a-caller/x')
  const text = await service.app.metrics.registry.metrics()
  assert.match(text, /sallyport_http_request_duration_seconds_count\{method="GET",route="\/healthz",status="200"\} 1/)
  assert.ok(!text.includes('made-up-by-a-caller'))
})

test('calls are counted by outcome, with their redactions and how many are in flight', async (t) => {
  const service = await startService(t, 'sqlite')
  const { proxy } = await agentInSandbox(service)
  await proxy()
  await proxy({ url: 'https://elsewhere.example/' })
  await proxy({ grant_id: 'none' })
  const text = await service.app.metrics.registry.metrics()
  for (const line of [
    'sallyport_proxy_calls_total{outcome="answered",provider="sandbox"} 1',
    'sallyport_proxy_calls_total{outcome="refused",provider="sandbox"} 1',
    'sallyport_proxy_calls_total{outcome="refused",provider="other"} 1',
    'sallyport_upstream_answers_total{status_class="2xx",provider="sandbox"} 1',
    'sallyport_errors_total{code="host_not_allowed"} 1',
    'sallyport_errors_total{code="grant_not_found"} 1',
    'sallyport_redactions_total 1',
    'sallyport_audit_commit_duration_seconds_count 1',
    'sallyport_proxy_calls_in_flight 0',
  ]) {
    assert.ok(text.includes(line), line)
  }
})

test('rate-limited requests are counted by route', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_REGISTRATIONS_PER_MINUTE: '1' })
  for (let i = 0; i < 3; i++) await service.call('POST', '/v4/agents/register', { body: { name: 'a' } })
  const text = await service.app.metrics.registry.metrics()
  assert.match(text, /^sallyport_rate_limited_total\{route="\/v4\/agents\/register"\} 2$/m)
  assert.match(text, /^sallyport_errors_total\{code="rate_limited"\} 2$/m)
})

onBothDatabases('the timed parts of proxied calls', (engine) => {
  test('add up to the duration of their HTTP responses, however the calls end', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response, { path }) => {
        if (path === '/cut') response.destroy()
        else response.writeHead(path === '/missing' ? 404 : 200).end('hello')
      },
    })
    const { service, proxy, stream, upstream } = calling
    const at = (path: string) => ({ url: `https://${upstream.host}${path}` })
    await proxy()
    await proxy(at('/missing'))
    await proxy(at('/cut'))
    await proxy({ url: 'https://elsewhere.example/' })
    await proxy({ dry_run: true })
    await (await stream()).answer.toArray()
    await service.call('POST', '/v4/proxy', { body: {} })
    const values = async (name: string) => {
      const text = await service.app.metrics.registry.metrics()
      const found = text.matchAll(new RegExp(`^${name}\\{([^}]*)\\} (\\S+)$`, 'gm'))
      return Array.from(found, ([, labels = '', value]) => ({ labels, value: Number(value) }))
    }
    const ofProxy = async (what: string) => {
      const all = await values(`sallyport_http_request_duration_seconds_${what}`)
      const some = all.filter(({ labels }) => labels.includes('route="/v4/proxy"'))
      return some.reduce((sum, { value }) => sum + value, 0)
    }
    // The client may read the end of a stream before the service notices that it was sent.
    while ((await ofProxy('count')) < 7) await setImmediate()
    const sums = await values('sallyport_proxy_call_duration_seconds_sum')
    const sum = sums.reduce((total, { value }) => total + value, 0)
    assert.ok(Math.abs(sum - (await ofProxy('sum'))) < 1e-6, `${sum} and ${await ofProxy('sum')}`)
    const counts = await values('sallyport_proxy_call_duration_seconds_count')
    const countOf = (part: string) => counts.find(({ labels }) => labels === `part="${part}"`)?.value
    assert.deepEqual([countOf('admission'), countOf('upstream'), countOf('answer')], [7, 4, 3])
    const answers = await values('sallyport_upstream_answers_total')
    assert.deepEqual(answers.map(({ labels, value }) => `${labels} ${value}`).sort(), [
      'status_class="2xx",provider="acme" 2',
      'status_class="4xx",provider="acme" 1',
    ])
  })
})

test('a provider that an agent proposed has no time series of its own', async () => {
  const metrics = createMetrics()
  const { onOutcome } = measureCalls(metrics, createAgentLoad(0))
  const standing = (slug: string | null, source: 'admin' | 'preset' | 'proposal') =>
    ({ grant: { kind: 'connection' }, provider: { slug, source } }) as unknown as Standing
  onOutcome('answered', standing('acme', 'admin'), { status: 200, bytes: 1, redactions: 0 })
  onOutcome('answered', standing('made-up', 'proposal'), { status: 999, bytes: 1, redactions: 0 })
  onOutcome('failed', standing(null, 'admin'))
  const text = await metrics.registry.metrics()
  assert.doesNotMatch(text, /made-up/)
  assert.match(text, /sallyport_proxy_calls_total\{outcome="answered",provider="acme"\} 1/)
  assert.match(text, /sallyport_upstream_answers_total\{status_class="other",provider="other"\} 1/)
  assert.match(text, /sallyport_proxy_calls_total\{outcome="failed",provider="other"\} 1/)
})

test('histograms reach 300 seconds, and all have the same buckets', async (t) => {
  const service = await startService(t, 'sqlite')
  const { proxy } = await agentInSandbox(service)
  await proxy()
  const text = await service.app.metrics.registry.metrics()
  const bucketsOf = (name: string) => {
    const [first] = text.matchAll(new RegExp(`^${name}_bucket\\{(?:le="[^"]+",?)(.*)\\} `, 'gm'))
    const labels = (first?.[1] ?? '').replaceAll(/[/{}()]/g, '.')
    return Array.from(text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)",?${labels}\\} `, 'gm')), ([, le]) => le)
  }
  const names = [...text.matchAll(/^# TYPE (sallyport_\w+) histogram$/gm)].map(([, name = '']) => name)
  assert.ok(names.length >= 4)
  for (const name of names) {
    assert.deepEqual(bucketsOf(name), bucketsOf('sallyport_http_request_duration_seconds'), name)
    assert.deepEqual(bucketsOf(name).slice(-2), ['300', '+Inf'], name)
  }
})

test('gauges that are the same in all processes are not added up', async (t) => {
  const service = await startService(t, 'sqlite')
  const figures = await service.app.metrics.registry.getMetricsAsJSON()
  const text = await createMetrics(() => Promise.resolve([figures, figures])).text()
  const one = await service.app.metrics.registry.metrics()
  for (const name of ['build_info', 'callbacks_waiting', 'connections_need_sign_in', 'clock_offset_seconds']) {
    const line = new RegExp(`^sallyport_${name}\\b.*$`, 'm')
    assert.equal(line.exec(text)?.[0], line.exec(one)?.[0], name)
  }
})
