/** The SDK's `fetch` beside the runtime's own: the same upstream, the same calls, the same outcome, or a known other. */
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
    // For the runtime's own.
    setDefaultCACertificates([...getCACertificates(), upstream.caPem])
  })
  after(async () => {
    for (const ending of endings) await ending()
  })
  const at = (path: string) => `https://${upstream.host}${path}`

  for (const [name, { run, differs }] of Object.entries(behaviours)) {
    test(`${name}${differs ? ', or not: documented' : ''}`, async () => {
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

  test('the upstream gets the person’s token, and the caller never does', async () => {
    const response = await proxied(at('/tell'))
    assert.equal(upstream.authorizations.at(-1), `Bearer ${accessToken}`)
    assert.ok(!(await response.text()).includes(accessToken))
  })

  test('a refusal is an error, never an answer, with its own code', async () => {
    const refusal = async (work: Promise<unknown>) => {
      const error: unknown = await work.catch((reason: unknown) => reason)
      assert.ok(error instanceof SallyportError)
      return error
    }
    const elsewhere = await refusal(proxied('https://elsewhere.example/'))
    assert.deepEqual([elsewhere.code, elsewhere.status], ['host_not_allowed', 403])
    assert.equal((await refusal(proxied('http://localhost/'))).code, 'invalid_url')
    assert.equal((await refusal(agent.fetch('grt_none')(at('/tell')))).code, 'grant_not_found')
    const large = proxied(at('/tell'), { method: 'POST', body: new Uint8Array(12_000_000) })
    assert.equal((await refusal(large)).code, 'body_too_large')
  })

  test('an answer that only passes for the upstream’s is refused', async () => {
    const lying: typeof globalThis.fetch = async () => new Response('hello', { status: 200 })
    const deceived = createAgentClient({ baseUrl: 'http://localhost', token: 'x', fetch: lying })
    await assert.rejects(deceived.fetch('grt_any')(at('/tell')), { code: 'unexpected_answer' })
  })
})
