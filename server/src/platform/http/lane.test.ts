import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import inject from 'light-my-request'
import { agentInSandbox } from '../../../testkit/sandbox.ts'
import { asFromSocket, startService } from '../../../testkit/service.ts'
import type { TestService } from '../../../testkit/service.ts'
import { turnsEnd } from '../turns-end.ts'

interface Call {
  headers: Record<string, string | string[]>
  payload: string
}

/** What of an answer differs from one call to the next: ids, and the checksum of a body that holds one. */
function alike(text: string): string {
  return text.replaceAll(/\b(req|aud)_[0-9a-hjkmnp-tv-z]{26}/g, '$1')
}

function ask({ app, config }: TestService, { headers, payload }: Call, how: 'lane' | 'usual') {
  const request = {
    method: 'POST' as const,
    url: '/v4/proxy',
    payload,
    headers: { host: config.baseUrl.host, ...headers },
  }
  return how === 'usual' ? app.http.inject(request) : inject(asFromSocket(app), request)
}

/** Who comes alone for a while waits for nobody, and is read without waiting too. */
const company = {
  'among others': async () => {
    for (let caller = 0; caller < 2; caller++) void turnsEnd()
    await nextTurn()
  },
  alone: async () => {
    for (let turn = 0; turn < 300; turn++) {
      void turnsEnd()
      await nextTurn()
    }
    assert.equal(turnsEnd(), undefined)
  },
}

async function callsOf(service: TestService) {
  const { token, grantId, echoUrl } = await agentInSandbox(service)
  const { token: disabled, agentId } = await service.registerAgent()
  await service.call('POST', `/v4/agents/${agentId}/disable`, { token: service.adminToken })
  const body = (members: object = {}) => JSON.stringify({ grant_id: grantId, method: 'GET', url: echoUrl, ...members })
  const usual = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const withHeaders = (more: Record<string, string | string[]>): Call => ({
    headers: { ...usual, ...more },
    payload: body(),
  })
  const withBody = (payload: string): Call => ({ headers: usual, payload })
  const calls: Record<string, Call> = {
    ordinary: withBody(body()),
    'with a body': withBody(body({ method: 'POST', body: { a: ['ü', null] } })),
    'in another charset': withHeaders({ 'content-type': 'application/json; charset=utf-8' }),
    'of another type': withHeaders({ 'content-type': 'text/plain' }),
    'without a token': { headers: { 'content-type': 'application/json' }, payload: body() },
    'with a token that is none': withHeaders({ authorization: 'Bearer x' }),
    "with a disabled agent's token": withHeaders({ authorization: `Bearer ${disabled}` }),
    "with the admin's token": withHeaders({ authorization: `Bearer ${service.adminToken}` }),
    'from a page': withHeaders({ origin: 'https://elsewhere.example' }),
    'to another host': withHeaders({ host: 'elsewhere.example' }),
    'for a range': withHeaders({ range: 'bytes=0-1' }),
    'with a key': withHeaders({ 'idempotency-key': 'once' }),
    'with a key that is none': withHeaders({ 'idempotency-key': '' }),
    'that expects something': withHeaders({ expect: '100-continue' }),
    'without a body': withBody(''),
    'with half a body': withBody(body().slice(0, -1)),
    'with a body in Latin-1': withBody(Buffer.from(body({ method: 'ä' }), 'latin1').toString('latin1')),
    'with an array': withBody('[]'),
    'with null': withBody('null'),
    'that is nested too deeply': withBody(body({ body: JSON.parse('['.repeat(300) + ']'.repeat(300)) as unknown })),
    'with a prototype': withBody('{"__proto__":{"dry_run":true},' + body().slice(1)),
    'with a prototype in escapes': withBody('{"\\u005f_proto__":{"dry_run":true},' + body().slice(1)),
    'with an unknown member': withBody(body({ more: 1 })),
    'without a grant': withBody(body({ grant_id: undefined })),
    'with a number for a URL': withBody(body({ url: 1 })),
    'that is a dry run': withBody(body({ dry_run: true })),
    'on a grant that is none': withBody(body({ grant_id: 'grt_01m7fh87g0ec1rtwj5y1dbtbb4' })),
    'to a place that is not allowed': withBody(body({ url: 'https://elsewhere.example/' })),
    'to no URL': withBody(body({ url: 'nowhere' })),
    'with more than the sandbox takes': withBody(body({ method: 'POST', body: 'x'.repeat(20_000) })),
    'with more than the lane takes': withBody(body({ headers: { 'x-long': 'x'.repeat(70_000) } })),
  }
  return calls
}

for (const [how, come] of Object.entries(company)) {
  test(`a call that comes ${how} is answered as it would be by the framework, whatever it is`, async (t) => {
    const service = await startService(t, 'sqlite')
    await service.app.http.ready()
    for (const [what, call] of Object.entries(await callsOf(service))) {
      await come()
      const [lane, usual] = [await ask(service, call, 'lane'), await ask(service, call, 'usual')]
      const seen = ({ statusCode, headers, payload }: typeof lane) => ({
        statusCode,
        // A key gives the first answer again, and no date is as old as the other.
        headers: Object.fromEntries(
          Object.entries(headers).flatMap(([name, value]) => (name === 'date' ? [] : [[name, alike(String(value))]])),
        ),
        payload: alike(payload),
      })
      assert.deepEqual(seen(lane), seen(usual), what)
    }
  })
}

test('a call in the lane is logged and measured as any other', async (t) => {
  const service = await startService(t, 'sqlite')
  const { ordinary } = await callsOf(service)
  assert.ok(ordinary)
  const lines: unknown[] = []
  for (const how of ['lane', 'usual'] as const) {
    service.log.length = 0
    await ask(service, ordinary, how)
    await new Promise(setImmediate)
    const line = service.log.find((text) => text.includes('POST /v4/proxy 200')) ?? '{}'
    lines.push({
      ...(JSON.parse(line) as object),
      time: '',
      ms: 0,
      request_id: alike(line.includes('req_') ? 'req' : ''),
    })
  }
  assert.deepEqual(lines[0], lines[1])
  assert.match(
    await service.app.metrics.text(),
    /sallyport_http_request_duration_seconds_count\{method="POST",route="\/v4\/proxy",status="200"\} 2/,
  )
})

for (const [how, come] of Object.entries(company)) {
  test(`an answer to who comes ${how} takes as long as its caller waits, also for its body to be read`, async (t) => {
    const service = await startService(t, 'sqlite')
    const { http } = service.app
    const { ordinary } = await callsOf(service)
    assert.ok(ordinary)
    await http.listen({ host: '127.0.0.1', port: 0 })
    const { port } = http.server.address() as AddressInfo
    const { headers, payload } = ordinary
    const request = httpRequest({
      ...{ host: '127.0.0.1', port, path: '/v4/proxy', method: 'POST', agent: false },
      headers: { host: service.config.baseUrl.host, ...headers, 'content-length': payload.length },
    })
    await come()
    request.write(payload.slice(0, 10))
    await once(http.server, 'request')
    await sleep(60)
    service.log.length = 0
    const [response] = (await once(request.end(payload.slice(10)), 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    const line = service.log.find((text) => text.includes('POST /v4/proxy 200')) ?? '{}'
    const { ms } = JSON.parse(line) as { ms?: number }
    assert.ok(ms !== undefined && ms >= 50, line)
  })
}

test('who hangs up within a body leaves its room to others', async (t) => {
  const service = await startService(t, 'sqlite', { SALLYPORT_BODIES_IN_FLIGHT_BYTES: '2000000' })
  const { http } = service.app
  const { token, proxy } = await agentInSandbox(service)
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const head = [
    'POST /v4/proxy HTTP/1.1',
    `host: ${service.config.baseUrl.host}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'content-length: 60000',
  ]
  for (let round = 0; round < 3; round++) {
    const sockets = Array.from({ length: 30 }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`${head.join('\r\n')}\r\n\r\n{"grant_id":`)
      return socket
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    await sleep(50)
    for (const socket of sockets) socket.destroy()
    await sleep(50)
  }
  assert.equal((await proxy()).status, 200)
})
