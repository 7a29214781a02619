import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { agentInSandbox } from '../../../testkit/sandbox.ts'
import { startService } from '../../../testkit/service.ts'
import type { Reply, TestService } from '../../../testkit/service.ts'
import { traceContextOf } from './response-log.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

function lineOf({ log }: TestService, { headers }: Reply): any {
  return log.map((text) => JSON.parse(text)).find(({ request_id }) => request_id === headers['x-request-id'])
}

onBothDatabases('the log line of a request', (engine) => {
  test('names request, agent, grant, record and trace of a proxied call', async (t) => {
    const service = await startService(t, engine)
    const { token, agentId, grantId, echoUrl } = await agentInSandbox(service)
    const body = { grant_id: grantId, method: 'GET', url: echoUrl }
    const reply = await service.call('POST', '/v4/proxy', { token, body, headers: { traceparent } })
    const { agent_id, grant_id, audit_id, trace_id, status } = lineOf(service, reply)
    assert.deepEqual([agent_id, grant_id, audit_id], [agentId, grantId, reply.body.audit_id])
    assert.deepEqual([trace_id, status], [traceId, 200])
  })

  test('names the grant of a refused call, and never text from the caller', async (t) => {
    const service = await startService(t, engine)
    const { agentId, grantId, proxy } = await agentInSandbox(service)
    const refused = lineOf(service, await proxy({ url: 'https://elsewhere.example/' }))
    assert.deepEqual([refused.agent_id, refused.grant_id], [agentId, grantId])
    const unknown = lineOf(service, await proxy({ grant_id: `${grantId.slice(0, -4)}aaaa` }))
    assert.deepEqual([unknown.agent_id, 'grant_id' in unknown, unknown.code], [agentId, false, 'grant_not_found'])
  })

  test('names the grant of a revocation', async (t) => {
    const service = await startService(t, engine)
    const { token, agentId, grantId } = await agentInSandbox(service)
    const line = lineOf(service, await service.call('POST', `/v4/grants/${grantId}/revoke`, { token }))
    assert.deepEqual([line.agent_id, line.grant_id, line.status], [agentId, grantId, 200])
  })

  test('appears for probes only at debug level or on failure', async (t) => {
    const service = await startService(t, engine)
    const probes = ['/healthz', '/readyz', '/metrics']
    const probe = async (path: string, one = service) => {
      return lineOf(one, await one.call('GET', path, { token: one.adminToken }))
    }
    for (const path of probes) assert.equal(await probe(path), undefined)
    service.app.beginStop()
    assert.equal((await probe('/readyz')).level, 'error')
    const talkative = await startService(t, engine, { SALLYPORT_LOG_LEVEL: 'debug' })
    for (const path of probes) assert.equal((await probe(path, talkative)).level, 'debug')
  })
})

test('a trace id is taken only from a valid traceparent', () => {
  const valid = [traceparent, traceparent.replace(/^00/, '01'), `cc${traceparent.slice(2)}-what-comes-later`]
  for (const value of valid) {
    assert.deepEqual(traceContextOf(value), { traceId, parentSpanId: '00f067aa0ba902b7', isSampled: true }, value)
  }
  assert.equal(traceContextOf(traceparent.replace(/01$/, '02'))?.isSampled, false)
  const zeros = '0'.repeat(32)
  for (const value of [
    undefined,
    '',
    [traceparent, traceparent],
    `${traceparent}, ${traceparent}`,
    traceparent.toUpperCase(),
    ` ${traceparent}`,
    `${traceparent}\n`,
    `${traceparent}-more`,
    traceparent.replace(/^00/, 'ff'),
    traceparent.replace(traceId, zeros),
    traceparent.replace('00f067aa0ba902b7', zeros.slice(16)),
    traceparent.replace(traceId, `${traceId}0`),
    traceparent.replace(traceId, `g${traceId.slice(1)}`),
    traceparent.slice(0, -1),
    `cc${traceparent.slice(2)}-${'x'.repeat(600)}`,
  ]) {
    assert.equal(traceContextOf(value), undefined, String(value))
  }
})
