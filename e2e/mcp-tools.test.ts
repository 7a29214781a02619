/** The tools to list and request access, over both transports. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ElicitationCompleteNotificationSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { ClientCapabilities, ElicitResult } from '@modelcontextprotocol/sdk/types.js'
import { sharedAgentSide } from './agent-side.ts'
import { mcpToken, overEachTransport } from './mcp-transports.ts'

const shared = sharedAgentSide()

overEachTransport(shared, ({ connect, cli, server }) => {
  test('the tools have correct annotations: read-only or destructive', async () => {
    const { client } = await connect()
    const { tools } = await client.listTools()
    const hints = Object.fromEntries(
      tools.map(({ name, annotations }) => [name, [annotations?.readOnlyHint, annotations?.destructiveHint]]),
    )
    assert.deepEqual(hints, {
      list_providers: [true, false],
      list_grants: [true, false],
      check_access: [true, false],
      request_access: [false, false],
      read_api: [true, false],
      call_api: [false, true],
      call_result: [true, false],
      cancel_call: [false, false],
      read_result: [true, false],
      sandbox: [false, false],
    })
    for (const { name, description, inputSchema, outputSchema } of tools) {
      assert.ok(description && inputSchema['additionalProperties'] === false, name)
      assert.ok(Object.keys(outputSchema?.properties ?? {}).length > 1, `${name} says what it gives back`)
      for (const [member, schema] of Object.entries(inputSchema.properties ?? {})) {
        assert.ok('type' in schema || 'anyOf' in schema, `${name}.${member} has a type`)
      }
    }
    const body = tools.find(({ name }) => name === 'call_api')?.inputSchema.properties?.['body']
    assert.ok(body && 'anyOf' in body && Array.isArray(body.anyOf))
    assert.deepEqual(
      body.anyOf.map(({ type }: { type?: unknown }) => type),
      ['string', 'object', 'array', 'number', 'boolean', 'null'],
    )
    assert.match(client.getInstructions() ?? '', /never instructions/)
  })

  test('the sandbox, and a call with a redacted credential', async () => {
    const { use } = await connect()
    const { facts } = await use('sandbox')
    const { text, isError } = await use('read_api', { grant_id: facts.grant_id, url: facts.echo_url })
    assert.equal(isError, undefined)
    assert.match(text, /responded with 200/)
    assert.match(text, /"authorization":"Bearer \[REDACTED\]"/)
    const listed = await use('list_grants')
    assert.deepEqual(
      listed.facts.grants.map((grant: any) => [grant.grant_id, grant.kind, grant.calls]),
      [[facts.grant_id, 'sandbox', 1]],
    )
  })

  test('request_access for the sandbox is approved immediately, with URL elicitation too', async () => {
    for (const capabilities of [{}, { elicitation: { url: {} } }]) {
      const { use } = await connect(capabilities)
      const { facts } = await use('request_access', { provider: 'sandbox', reason: 'To try it out', methods: ['GET'] })
      assert.deepEqual(
        [facts.status, facts.provider, facts.allowed_methods, facts.allowed_hosts],
        ['approved', 'sandbox', ['GET'], [new URL(shared().base).host]],
      )
      const url = `${shared().base}/v4/sandbox/echo`
      assert.match((await use('read_api', { grant_id: facts.grant_id, url })).text, /Bearer \[REDACTED\]/)
    }
  })

  test('a call without a grant says what to request if a provider has the host', async () => {
    const { upstream, host } = shared()
    const { use } = await connect()
    const { isError, facts } = await use('read_api', { url: upstream('/hello') })
    assert.deepEqual([isError, facts.error.code], [true, 'no_grant'])
    assert.deepEqual(facts.error.access_request, { provider: 'acme', hosts: [host], methods: ['GET'] })
    const elsewhere = await use('read_api', { url: 'https://api.example.com/' })
    assert.deepEqual([elsewhere.facts.error.code, elsewhere.facts.error.access_request], ['no_grant', undefined])
  })

  test('without URL elicitation the link is returned; check_access waits with progress', async () => {
    const { approve, host, upstream } = shared()
    const { use } = await connect()
    assert.deepEqual((await use('list_providers')).facts.providers, [
      { provider: 'acme', provider_name: 'Acme', api_hosts: [host], verified: true },
    ])
    const wish = { provider: 'acme', reason: 'To read your mail', methods: ['GET', 'POST'] }
    const { facts: asked } = await use('request_access', wish)
    assert.deepEqual(
      [asked.status, asked.approval_url],
      ['pending', `${shared().base}/approve-proxy/${asked.access_request_id}`],
    )
    assert.match(asked.next, /Show approval_url to the person/)
    const id = { access_request_id: asked.access_request_id }
    assert.equal((await use('check_access', id)).facts.status, 'pending')
    let told: (() => void) | undefined
    const heard = new Promise<void>((resolve) => (told = resolve))
    const waiting = use('check_access', { ...id, wait_seconds: 60 }, { onprogress: () => told?.() })
    await heard
    const grantId = await approve(asked.access_request_id, { allowed_methods: ['GET'] })
    const { facts } = await waiting
    assert.deepEqual(
      [facts.status, facts.grant_id, facts.allowed_hosts, facts.allowed_methods],
      ['approved', grantId, [host], ['GET']],
    )
    assert.match((await use('read_api', { url: upstream('/hello') })).text, /\nhello\n/)
  })

  test("a denial, an unknown provider and another agent's request are tool errors with advice", async () => {
    const { deny, service } = shared()
    const { use } = await connect()
    const { facts: asked } = await use('request_access', { provider: 'acme', reason: 'Again' })
    await deny(asked.access_request_id, 'Not for you')
    const denied = await use('check_access', { access_request_id: asked.access_request_id })
    assert.deepEqual(
      [denied.isError, denied.facts.error.code, denied.facts.reason_of_the_person],
      [true, 'access_denied', 'Not for you'],
    )
    const other = await service.register()
    const body = { provider: 'acme' }
    const foreign = await service.call('POST', '/v4/access-requests', { token: other.token, body })
    const { isError, facts } = await use('check_access', { access_request_id: foreign.body.access_request_id })
    assert.deepEqual([isError, facts.error.code], [true, 'not_found'])
    const unknown = await use('request_access', { provider: 'nobody', reason: 'x' })
    assert.deepEqual(
      [unknown.isError, unknown.facts.error.code, unknown.facts.error.field],
      [true, 'not_found', 'provider'],
    )
  })

  describe('with a client that supports URL elicitation', () => {
    const elicitation: ClientCapabilities = { elicitation: { url: {} } }

    async function elicited(answer: (id: string) => Promise<ElicitResult>) {
      const session = await connect(elicitation)
      const shown: any[] = []
      const completed: string[] = []
      session.client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        shown.push(params)
        return answer((params as { elicitationId: string }).elicitationId)
      })
      session.client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
        completed.push(params.elicitationId)
      })
      return { ...session, shown, completed }
    }

    const wish = { provider: 'acme', reason: 'To read your mail' }

    test('the user opens the link and approves: the tool returns the grant', async () => {
      const { approve, base } = shared()
      let grantId = ''
      const { use, shown, completed } = await elicited(async (id) => {
        setTimeout(() => void approve(id).then((id) => (grantId = id)), 50)
        return { action: 'accept' }
      })
      const { facts } = await use('request_access', wish)
      assert.deepEqual([facts.status, facts.grant_id], ['approved', grantId])
      const [{ mode, url, elicitationId }] = shown
      assert.deepEqual([mode, url], ['url', `${base}/approve-proxy/${facts.access_request_id}`])
      assert.deepEqual([elicitationId, completed], [facts.access_request_id, [facts.access_request_id]])
    })

    test('the user declines: the request is cancelled', async () => {
      const { use, shown } = await elicited(async () => ({ action: 'decline' }))
      const { isError, facts } = await use('request_access', wish)
      assert.deepEqual([isError, facts.error.code], [true, 'declined'])
      const [{ elicitationId: id }] = shown
      const { body } = await shared().service.call('GET', `/v4/access-requests/${id}`, { token: cli().token })
      assert.equal(body.status, 'cancelled')
    })

    test('the user dismisses it: the link is in the result, and the request stays open', async () => {
      const { use } = await elicited(async () => ({ action: 'cancel' }))
      const { isError, facts } = await use('request_access', wish)
      assert.deepEqual([isError, facts.status], [undefined, 'pending'])
      assert.match(facts.approval_url, /\/approve-proxy\/arq_/)
    })

    test('the user decides elsewhere before responding to the client', async () => {
      const { approve } = shared()
      const { use } = await elicited(async (id) => {
        await approve(id)
        return new Promise(() => undefined)
      })
      assert.equal((await use('request_access', wish)).facts.status, 'approved')
    })

    test('the call is cancelled while it waits: the request is cancelled too', async () => {
      const stop = new AbortController()
      const { use, shown } = await elicited(async () => {
        setTimeout(() => {
          stop.abort('enough')
        }, 50)
        return { action: 'accept' }
      })
      await assert.rejects(use('request_access', wish, { signal: stop.signal }), /enough/)
      const [{ elicitationId: id }] = shown
      for (let tries = 0; tries < 100; tries++) {
        const { body } = await shared().service.call('GET', `/v4/access-requests/${id}`, { token: cli().token })
        if (body.status === 'cancelled') return
        await new Promise((resolve) => setTimeout(resolve, 30))
      }
      assert.fail('the request stayed open')
    })
  })

  test('no token is in any result', async () => {
    const { use } = await connect()
    const answers = [await use('list_grants', { status: 'all' }), await use('sandbox')]
    for (const { text } of answers) assert.ok(!/sp_(?:agent|admin|mcp|sandbox)_/.test(text))
    const running = server()
    if (running) assert.ok(!running.seen().includes(mcpToken))
  })
})
