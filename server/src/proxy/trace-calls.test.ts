/** What a collector gets of calls, and what becomes of calls while it fails. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { ReceiverFault } from '../../testkit/callback-receiver.ts'
import { accessToken, startCalling, startOAuthCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startOtherReceiver, startOtlpReceiver } from '../../testkit/otlp-receiver.ts'
import type { OtlpReceiver, ReceivedSpan } from '../../testkit/otlp-receiver.ts'
import type { Environment } from '../platform/config/settings.ts'
import { leftOf, secretForms } from '../../testkit/secret-forms.ts'
import type { Reply } from '../../testkit/service.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callersSpan = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${callersSpan}-01`

async function until<T>(find: () => T | undefined): Promise<T> {
  for (let tries = 0; ; tries++) {
    const found = find()
    if (found !== undefined) return found
    assert.ok(tries < 3000, 'it does not come about')
    await sleep(20)
  }
}

/** The span of the request, and those of what it waited for: they are exported no later than it. */
async function traceOf(receiver: OtlpReceiver, { headers }: Pick<Reply, 'headers'>) {
  const requestId = headers['x-request-id']
  const root = await until(() =>
    receiver.spans().find(({ attributes }) => attributes['sallyport.request_id'] === requestId),
  )
  return { root, children: receiver.spans().filter(({ parentSpanId }) => parentSpanId === root.spanId) }
}

const named = (spans: ReceivedSpan[], name: string) => spans.filter((span) => span.name === name)

onBothDatabases('the trace of a proxied call', (engine) => {
  test('has route, status and ids, its commit and its upstream request', async (t) => {
    const receiver = await startOtlpReceiver(t)
    const { service, agent, grantId, upstream } = await startCalling(t, engine, {
      settings: { ...receiver.settings, SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' },
    })
    const body = { grant_id: grantId, method: 'GET', url: upstream.url, headers: { traceparent, tracestate: 'a=b' } }
    const reply = await service.call('POST', '/v4/proxy', { token: agent.token, body, headers: { traceparent } })
    assert.equal(reply.status, 200, reply.text)
    const { root, children } = await traceOf(receiver, reply)
    assert.deepEqual(
      [root.traceId, root.parentSpanId, root.name, root.kind],
      [traceId, callersSpan, 'POST /v4/proxy', 2],
    )
    assert.deepEqual(root.attributes, {
      'http.request.method': 'POST',
      'http.route': '/v4/proxy',
      'http.response.status_code': '200',
      'sallyport.request_id': reply.headers['x-request-id'],
      'sallyport.agent_id': agent.agentId,
      'sallyport.grant_id': grantId,
      'sallyport.audit_id': reply.body.audit_id,
    })
    assert.ok(children.every((child) => child.traceId === traceId && child.startNs >= root.startNs))
    const [commit] = named(children, 'record call')
    const [hop, ...more] = named(children, 'upstream request')
    assert.ok(commit && hop && more.length === 0 && commit.endNs <= hop.startNs)
    assert.deepEqual(hop.attributes, { 'sallyport.provider': 'acme', 'http.response.status_code': '200' })
    const [{ headers } = assert.fail()] = upstream.received
    assert.deepEqual([headers['traceparent'], headers['tracestate']], [undefined, undefined])
  })

  test('names the code of a refusal, and the transaction of another request', async (t) => {
    const receiver = await startOtlpReceiver(t)
    const { service, proxy } = await startCalling(t, engine, {
      settings: { ...receiver.settings, SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' },
    })
    const refused = await traceOf(receiver, await proxy({ url: 'https://elsewhere.example/' }))
    assert.deepEqual(
      [refused.root.attributes['error.type'], refused.root.isFailed, named(refused.children, 'upstream request')],
      ['host_not_allowed', false, []],
    )
    const login = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body: {} })
    const { children } = await traceOf(receiver, login)
    assert.equal(named(children, 'database transaction').length, 1)
  })

  test('shows that a token was renewed, and both requests', async (t) => {
    const receiver = await startOtlpReceiver(t)
    let refusals = 1
    const { proxy } = await startOAuthCalling(t, engine, {
      answer: (response) => response.writeHead(refusals-- > 0 ? 401 : 200).end(),
      settings: { ...receiver.settings, SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' },
    })
    const { children } = await traceOf(receiver, await proxy())
    const statuses = named(children, 'upstream request').map(
      ({ attributes }) => attributes['http.response.status_code'],
    )
    assert.deepEqual(statuses, ['401', '200'])
    assert.ok(named(children, 'get credential').length >= 1)
  })
})

test('a provider gets traceparent only if it is listed, and then that of its own request', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const settings = {
    ...receiver.settings,
    SALLYPORT_TRACEPARENT_PROVIDERS: 'other,acme',
    SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8',
  }
  const { service, agent, grantId, upstream } = await startCalling(t, 'sqlite', { settings })
  const body = {
    grant_id: grantId,
    method: 'GET',
    url: upstream.url,
    headers: { traceparent: traceparent.replace('4bf', '000') },
  }
  const reply = await service.call('POST', '/v4/proxy', { token: agent.token, body, headers: { traceparent } })
  const { children } = await traceOf(receiver, reply)
  const [hop] = named(children, 'upstream request')
  assert.equal(upstream.received[0]?.headers['traceparent'], `00-${traceId}-${hop?.spanId}-01`)
})

test('a caller that does not sample gets no span, and probes have none', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const { service } = await startCalling(t, 'sqlite', { settings: receiver.settings })
  await service.call('GET', '/v4/health', { headers: { traceparent: traceparent.replace(/01$/, '00') } })
  await service.call('GET', '/readyz')
  const { root } = await traceOf(receiver, await service.call('GET', '/v4/health'))
  const traced = receiver.spans().filter(({ kind }) => kind === 2)
  assert.ok(traced.every((span) => span.traceId !== traceId && span.name !== 'GET /readyz'))
  assert.equal(named(traced, 'GET /v4/health').at(-1)?.spanId, root.spanId)
})

test('metrics have the values and buckets that Prometheus sees', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const { proxy } = await startCalling(t, 'sqlite', {
    settings: { ...receiver.settings, SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' },
  })
  await proxy()
  await proxy()
  const calls = await until(() =>
    receiver.points().find(({ name, value }) => name === 'sallyport_proxy_calls_total' && value === 2),
  )
  assert.deepEqual(calls.attributes, { outcome: 'answered', provider: 'acme' })
  const histograms = receiver.points().filter(({ count }) => count !== undefined)
  const durations = histograms.find(({ name }) => name === 'sallyport_audit_commit_duration_seconds')
  assert.equal(durations?.count, 2)
  for (const { name, count, bucketCounts } of histograms) {
    assert.ok(
      bucketCounts.every((one) => one >= 0),
      name,
    )
    assert.equal(
      bucketCounts.reduce((sum, one) => sum + one, 0),
      count,
      name,
    )
  }
})

const faults: [string, ReceiverFault | 'down'][] = [
  ['does not answer', 'holds'],
  ['answers 500', { status: 500 }],
  ['is overloaded', { status: 503 }],
  ['closes the connection', 'hangs up'],
  ['closes it in the middle of its answer', 'dies'],
  ['answers without an end', 'trickles'],
  ['sends a redirect', { status: 302, headers: { location: 'https://elsewhere.example/' } }],
  ['is gone', 'down'],
]

for (const [what, fault] of faults) {
  test(`a collector that ${what} fails no call, and is used again when it recovers`, async (t) => {
    const receiver = await startOtlpReceiver(t)
    if (fault === 'down') await receiver.goDown()
    else receiver.answer(fault)
    const { service, proxy } = await startCalling(t, 'sqlite', {
      settings: { ...receiver.settings, SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' },
    })
    const tried = () => (fault === 'down' || receiver.received.length > 0 ? true : undefined)
    const first = await proxy()
    for (const reply of [first, await proxy(), await proxy()]) assert.equal(reply.status, 200)
    await until(tried)
    assert.equal((await proxy()).status, 200)
    const said = (text: string) => service.log.filter((line) => line.includes(text)).length
    if (fault !== 'holds') await until(() => (said('takes no telemetry') > 0 ? true : undefined))
    receiver.answer(undefined)
    receiver.letGo()
    if (fault === 'down') await receiver.comeBack()
    // Exports run one after the other, so none of the failed ones is left.
    if (fault !== 'holds') await until(() => (said('takes telemetry again') > 0 ? true : undefined))
    const reply = await proxy()
    assert.equal((await traceOf(receiver, reply)).root.attributes['http.response.status_code'], '200')
    assert.ok(said('takes no telemetry') <= 1)
    // What it said that it did not take is there too.
    if (what === 'is overloaded') await traceOf(receiver, first)
  })
}

const collectorsKey = 'Xk29-collector-key-Vb71mQzR'
const [query, header, content] = ['qS83-in-the-query-Lm4Wd', 'hT51-in-a-header-Pq7Xz', 'bU62-in-the-body-Rn9Yc']

/** Credentials and secrets of all kinds in every place of a request; the last answer, and all of them. */
async function callWithSecrets(t: TestContext, settings: Environment) {
  const { service, agent, grantId, proxy, upstream } = await startCalling(t, 'sqlite', {
    settings: {
      ...settings,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${collectorsKey}`,
      SALLYPORT_TRACEPARENT_PROVIDERS: 'acme',
      SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8',
    },
    answer: (response, { headers }) => {
      response.setHeader('x-reflected', headers.authorization ?? '').end(headers.authorization)
    },
  })
  const { token: session, cookie } = await service.logIn({ email: 'grace@example.com' })
  await proxy({ method: 'POST', url: `${upstream.url}?key=${query}`, headers: { 'x-key': header }, body: { content } })
  await proxy({ url: `https://elsewhere.example/${query}` })
  await service.call('POST', '/v4/proxy', { token: `${agent.token}x`, body: { grant_id: query, [content]: header } })
  await service.call('GET', `/v4/audit/${query}?secret=${query}`, { headers: { cookie, 'x-key': header } })
  await service.call('GET', `/${query}/${header}`, { token: session })
  const last = await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token })
  const secrets = { accessToken, agent: agent.token, session, admin: service.adminToken, query, header, content }
  return { last, secrets, ids: [agent.agentId, grantId] }
}

function assertNoneOf(secrets: Record<string, string>, got: string): void {
  const bytes = Buffer.from(got)
  for (const [name, secret] of Object.entries(secrets)) {
    for (const form of secretForms) assert.equal(leftOf(bytes, form, secret), undefined, `${name}, ${form.name}`)
  }
}

test('no credential reaches the collector, in any form', async (t) => {
  const receiver = await startOtlpReceiver(t)
  const { last, secrets, ids } = await callWithSecrets(t, receiver.settings)
  await traceOf(receiver, last)
  await until(() => (receiver.points().length > 0 ? true : undefined))
  assert.ok(receiver.received.every(({ headers }) => headers['authorization'] === `Bearer ${collectorsKey}`))
  const got = receiver.received.map(({ path, body }) => `${path}\n${body}`).join('\n')
  for (const id of ids) assert.ok(got.includes(id))
  assertNoneOf({ ...secrets, collectorsKey }, got)
})

test('a receiver of others, on loopback without TLS, gets spans and metrics, and no credential', async (t) => {
  const receiver = await startOtherReceiver(t)
  const { last, secrets, ids } = await callWithSecrets(t, receiver.settings)
  const requestId = last.headers['x-request-id']
  const isLast = ({ attributes }: ReturnType<typeof receiver.spans>[number]) =>
    attributes.some(({ key, value }) => key === 'sallyport.request_id' && value.stringValue === requestId)
  await until(() => receiver.spans().find(isLast))
  await until(() => receiver.metricNames().find((name) => name === 'sallyport_proxy_calls_total'))
  const names = new Set(receiver.spans().map(({ name }) => name))
  for (const name of ['POST /v4/proxy', 'record call', 'upstream request']) assert.ok(names.has(name), name)
  for (const id of ids) assert.ok(receiver.text().includes(id))
  assertNoneOf(secrets, receiver.text())
})
