import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { proxyTo, upstreamToken } from '../../testkit/proxy.ts'
import type { TestResponse } from '../../testkit/proxy.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { createSandboxStore } from '../sandbox/sandbox-store.ts'

async function everythingRecorded({ database }: TestService): Promise<string> {
  return JSON.stringify(await database.queries.selectFrom('audit_records').selectAll().execute())
}

onBothDatabases('secrecy', (engine) => {
  test('query values, headers, bodies and tokens are in no record and no log line', async (t) => {
    const service = await startService(t, engine)
    const { proxy, token, agentId, grantId } = await agentInSandbox(service)
    const sandboxToken = await createSandboxStore(service.vault).tokenOf(service.database.queries, agentId, grantId)
    const session = await service.logIn({ email: 'ada@example.com' })
    const call = {
      method: 'POST',
      url: 'http://localhost:8787/v4/sandbox/echo?key=query-value',
      headers: { 'x-key': 'header-value', authorization: 'caller-credential' },
      body: { key: 'body-value' },
    }
    assert.equal((await proxy(call)).status, 200)
    const refusals = [
      { ...call, url: 'https://user-name:pass-word@api.example.com/?key=query-value#frag-ment' },
      { ...call, url: 'https://api.example.com/?key=query-value' },
      { ...call, url: 'query-value' },
      { ...call, grant_id: 'query-value' },
      { ...call, method: 'body-value ' },
      { ...call, headers: { 'header-value ': 'x' } },
      { ...call, body: 'body-value'.repeat(10_000) },
    ]
    for (const refused of refusals) assert.notEqual((await proxy(refused)).status, 200)
    await service.call('GET', `/v4/auth/me?key=query-value`, { token: session.token })
    await service.call('GET', `/query-value`, { headers: { cookie: session.cookie } })
    await service.call('POST', '/v4/auth/login', { body: '{"body-value":' })
    await service.app.flushRefusals()
    const written = `${await everythingRecorded(service)}${service.log.join('')}`
    assert.match(written, /proxy\.attempt.*"POST \/v4\/proxy 200"/s)
    for (const secret of [
      'query-value',
      'header-value',
      'body-value',
      'caller-credential',
      'user-name',
      'pass-word',
      'frag-ment',
      token,
      session.token,
      service.adminToken,
      sandboxToken?.reveal() ?? '',
    ]) {
      assert.ok(secret.length > 8)
      assert.ok(!written.toLowerCase().includes(secret.toLowerCase()), secret)
    }
  })

  test('a malicious upstream returns the token everywhere: it is redacted', async (t) => {
    const service = await startService(t, engine)
    const response = (type: string, body: string | Buffer): TestResponse => ({
      status: 200,
      headers: [
        ['content-type', type],
        [`x-${upstreamToken}`, 'as a name'],
        [`y-${upstreamToken.toLowerCase()}`, 'as a name in lower case'],
        ['x-value', `Bearer ${upstreamToken}`],
        ['set-cookie', upstreamToken],
        ['location', `https://evil.example/?t=${upstreamToken}`],
      ],
      body: ReadableStream.from(Array.from(Buffer.from(body), (byte) => Buffer.from([byte]))),
    })
    const responses = [
      response('application/json', JSON.stringify({ [upstreamToken]: [upstreamToken, { a: `<${upstreamToken}>` }] })),
      response('application/json', upstreamToken),
      response('text/html', `<a href="?${upstreamToken}">${upstreamToken}</a>`),
      response('application/octet-stream', Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from(upstreamToken)])),
      response(upstreamToken, upstreamToken),
    ]
    for (const one of responses) {
      const { call } = await proxyTo(service, { upstream: () => Promise.resolve(one) })
      const answer = await call()
      const body = answer.bodyEncoding === 'base64' ? Buffer.from(String(answer.body), 'base64') : answer.body
      const shown = `${JSON.stringify(answer)}${JSON.stringify(body)}${String(body)}`.toLowerCase()
      assert.ok(!shown.includes(upstreamToken.toLowerCase()), shown)
      assert.match(shown, /\[redacted\]/)
      assert.equal(answer.headers['set-cookie'], undefined)
      assert.ok(answer.redactions >= 5)
    }
    const written = `${await everythingRecorded(service)}${service.log.join('')}`
    assert.ok(!written.includes(upstreamToken))
  })
})
