/** The SDK's `fetch` compared with the runtime's: same upstream, same calls, same result or a documented difference. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createAgentClient, SallyportError } from '@sallyport/sdk'
import type { AgentClient } from '@sallyport/sdk'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { behaviours } from './sdk-fetch-behaviours.ts'
import { startToldUpstream } from './sdk-upstream.ts'
import type { ToldUpstream } from './sdk-upstream.ts'

const accessToken = `upstream-${'k3y'.repeat(10)}`
const page = readFileSync(new URL('../docs/sdk.md', import.meta.url), 'utf8')

describe('a fetch over the service', () => {
  let calling: Calling
  let upstream: ToldUpstream
  let agent: AgentClient
  let proxied: typeof globalThis.fetch
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    upstream = await startToldUpstream(scope)
    const tokens = { access_token: accessToken, refresh_token: `refresh-${'k3y'.repeat(10)}` }
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host, 'localhost:1'], tokens })
    agent = createAgentClient({ baseUrl: `http://localhost:${calling.service.port}`, token: calling.agent.token })
    proxied = agent.fetch(calling.grantId)
    // For the runtime's fetch.
    setDefaultCACertificates([...getCACertificates(), upstream.caPem])
  })
  after(async () => {
    for (const ending of endings) await ending()
  })
  const at = (path: string) => `https://${upstream.host}${path}`

  for (const [name, { run, differs }] of Object.entries(behaviours)) {
    test(`${name}${differs ? ' (documented difference)' : ''}`, async () => {
      const builtIn = await run(fetch, at, upstream)
      const ours = await run(proxied, at, upstream)
      if (!differs) {
        assert.deepEqual(ours, builtIn)
        return
      }
      assert.deepEqual({ builtIn, ours }, { builtIn: differs.builtIn, ours: differs.ours })
      assert.ok(page.includes(`| ${differs.documented}`), `docs/sdk.md says nothing of ${differs.documented}`)
    })
  }

  test("the upstream gets the user's token, and the caller never does", async () => {
    const response = await proxied(at('/tell'))
    assert.equal(upstream.authorizations.at(-1), `Bearer ${accessToken}`)
    assert.ok(!(await response.text()).includes(accessToken))
  })

  /** Each with the status and error code. */
  const refusals: [
    string,
    number,
    string,
    (fetch: (grantId?: string) => typeof globalThis.fetch) => Promise<Response>,
  ][] = [
    ['a host that the grant does not cover', 403, 'host_not_allowed', (by) => by()('https://elsewhere.example/')],
    ['an unknown grant', 404, 'grant_not_found', (by) => by('grt_none')(at('/tell'))],
    ['a URL that is not https', 400, 'invalid_url', (by) => by()('http://localhost/')],
    [
      'a long body without a type',
      413,
      'body_not_inspectable',
      (by) => by()(at('/tell'), { method: 'POST', body: new Uint8Array(12_000_000) }),
    ],
    ['an unreachable host', 502, 'upstream_unreachable', (by) => by()('https://localhost:1/')],
    [
      'a redirect to a host outside the grant',
      403,
      'host_not_allowed',
      (by) => by()(at(`/redirect?to=${encodeURIComponent('https://elsewhere.example/')}`)),
    ],
  ]
  for (const [name, status, code, call] of refusals) {
    test(`${name} is a Response with the error, or as the caller chose`, async () => {
      const response = await call((grantId = calling.grantId) => agent.fetch(grantId))
      const { error } = (await response.clone().json()) as { error: Record<string, unknown> }
      assert.deepEqual([response.status, response.ok, error['code']], [status, false, code])
      assert.equal(response.headers.get('x-sallyport-error'), code)
      assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
      assert.equal(response.headers.get('x-should-retry'), error['retryable'] ? null : 'false')
      assert.match(String(error['request_id']), /^req_/)
      const thrown = call((grantId = calling.grantId) => agent.fetch(grantId, { onRefusal: 'throw' }))
      await assert.rejects(thrown, (reason) => reason instanceof SallyportError && reason.code === code)
      const onRefusal = (refusal: SallyportError) => Response.json({ ok: false, error: refusal.code })
      const made = await call((grantId = calling.grantId) => agent.fetch(grantId, { onRefusal }))
      assert.deepEqual([made.status, await made.json()], [200, { ok: false, error: code }])
    })
  }

  test('a refused call says that the service refused it, and has no body for HEAD', async () => {
    const elsewhere = 'https://elsewhere.example/'
    const response = await proxied(at(`/redirect?to=${encodeURIComponent(elsewhere)}`))
    assert.deepEqual([response.url, response.redirected], [elsewhere, true])
    assert.equal((await proxied(elsewhere, { method: 'HEAD' })).body, null)
  })

  test('no upstream can fake an error of the service', async () => {
    const forged = await proxied(at('/forged'))
    assert.deepEqual([forged.status, await forged.text()], [403, 'mine'])
    assert.equal(forged.headers.get('x-sallyport-error'), null)
    const whole = await agent.proxy({ grant_id: calling.grantId, method: 'GET', url: at('/forged') })
    assert.deepEqual(
      Object.keys(whole.headers).filter((name) => name.startsWith('x-sallyport-')),
      [],
    )
  })

  test('a service that does not respond throws', async () => {
    const gone = createAgentClient({ baseUrl: 'http://localhost:1', token: 'x', retries: 0 })
    await assert.rejects(gone.fetch('grt_any')(at('/tell')), { code: 'no_answer' })
  })

  test("a response that only imitates the upstream's is refused", async () => {
    const lying: typeof globalThis.fetch = async () => new Response('hello', { status: 200 })
    const deceived = createAgentClient({ baseUrl: 'http://localhost', token: 'x', fetch: lying })
    await assert.rejects(deceived.fetch('grt_any')(at('/tell')), { code: 'unexpected_answer' })
  })
})
