import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Receipt } from '@sallyport/protocol/grants'
import { verifyReceipt } from '@sallyport/protocol/verify-receipt'
import { startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { Engine } from '../platform/database/database.ts'
import { pairDevice } from '../../testkit/device.ts'
import { insertGrant } from '../../testkit/grants.ts'
import type { Grant, GrantException } from '../grants/grant.ts'

type Terms = Partial<Pick<Grant, 'mode' | 'exceptions' | 'maxAccess' | 'allowedMethods'>>
type Outcome = [asks: boolean, term: string, code?: string]

const waits = (term: string): Outcome => [true, term, 'waiting']
const allowed = (term = 'mode'): Outcome => [false, term]

/** What a person sets, and what then becomes of calls. */
const table: { decision: object; calls: Record<string, Outcome> }[] = [
  { decision: {}, calls: { 'GET /things': allowed(), 'POST /things': allowed(), 'DELETE /things': allowed() } },
  {
    decision: { mode: 'ask_writes' },
    calls: { 'GET /things': allowed(), 'POST /things': waits('mode'), 'DELETE /things': waits('mode') },
  },
  { decision: { mode: 'ask_all' }, calls: { 'GET /things': waits('mode'), 'POST /things': waits('mode') } },
  {
    decision: { max_access: 'read' },
    calls: {
      'GET /things': allowed(),
      'POST /things': [false, 'max_access', 'access_not_allowed'],
      'DELETE /things': [false, 'max_access', 'access_not_allowed'],
    },
  },
  {
    decision: { max_access: 'write', mode: 'ask_writes' },
    calls: {
      'GET /things': allowed(),
      'POST /things': waits('mode'),
      'DELETE /things': [false, 'max_access', 'access_not_allowed'],
    },
  },
  {
    decision: {
      mode: 'ask_writes',
      exceptions: [
        { paths: ['/things/drafts/'], methods: ['post'], action: 'allow' },
        { paths: ['/things/private'], action: 'deny' },
        { paths: ['/things/rare'], action: 'ask' },
      ],
    },
    calls: {
      'GET /things': allowed(),
      'POST /things/drafts/1': allowed('exceptions.0'),
      'PUT /things/drafts/1': waits('mode'),
      'GET /things/Private/1': [false, 'exceptions.1', 'denied_by_exception'],
      'GET /things/rare': waits('exceptions.2'),
      'GET /things/drafts%2Fx': allowed(),
      'POST /things/drafts%2Fx': [false, 'exceptions.0', 'path_not_allowed'],
    },
  },
]

/** Each makes a grant wider than it was signed. */
const weaker: Partial<Receipt['grant']>[] = [
  { mode: 'allow_all' },
  { mode: 'ask_writes' },
  { exceptions: [] },
  { exceptions: [{ paths: ['/'], action: 'allow' }] },
  { max_access: 'write' },
  { max_access: null },
]

async function withTerms({ service, agent, userId, connectionId, upstream }: Calling, terms: Terms): Promise<string> {
  const places = { agentId: agent.agentId, userId, connectionId, allowedHosts: [upstream.host] }
  return (await insertGrant(service, { ...places, ...terms })).grantId
}

async function startSigning(t: TestContext, engine: Engine) {
  const calling = await startCalling(t, engine, { settings: { SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000' } })
  const { service, agent, connectionId } = calling
  const { call } = service
  const user = await service.logIn({ email: 'ada@example.com' })
  const device = await pairDevice(service, user)
  const approved = async (terms: object) => {
    const asked = await call('POST', '/v4/access-requests', { token: agent.token, body: { provider: 'acme' } })
    const place = `/v4/access-requests/${asked.body.access_request_id}`
    const decision = { connection_id: connectionId, ...terms }
    const challenge = await call('POST', `${place}/challenge`, { token: device.token, body: decision })
    const { challenge_id, signing_input } = challenge.body
    const body = { ...decision, challenge_id, signature: device.sign(signing_input.approve) }
    const grant = await call('POST', `${place}/approve`, { token: device.token, body })
    assert.equal(grant.status, 201, grant.text)
    const receipt = await call('GET', `/v4/grants/${grant.body.grant_id}/receipt`, { token: user.token })
    return { grant: grant.body, receipt: receipt.body as Receipt }
  }
  return { ...calling, user, device, approved }
}

onBothDatabases('the terms of a grant', (engine) => {
  test('are signed, stored, listed, proven by the receipt, told by a dry run, and decide calls', async (t) => {
    const { service, upstream, agent, user, proxy, approved } = await startSigning(t, engine)
    for (const { decision, calls } of table) {
      const { grant, receipt } = await approved(decision)
      const said = JSON.stringify(decision)
      const expected = {
        mode: 'allow_all',
        exceptions: [],
        max_access: null,
        ...JSON.parse(said.replace('post', 'POST').replace('drafts/', 'drafts')),
      }
      const termsOf = ({ mode, exceptions, max_access }: any) => ({ mode, exceptions, max_access })
      assert.deepEqual(termsOf(grant), expected)
      assert.deepEqual(termsOf(receipt.grant), expected)
      for (const { token } of [user, agent]) {
        const { body } = await service.call('GET', '/v4/grants', { token })
        const listed = body.grants.find(({ grant_id }: { grant_id: string }) => grant_id === grant.grant_id)
        assert.deepEqual(termsOf(listed), expected)
      }
      const { verdict, covers } = await verifyReceipt(receipt)
      assert.deepEqual([verdict, covers], ['signed', ['connection_id', ...Object.keys(decision)].sort(inOrder)])

      for (const [made, [asks, term, code]] of Object.entries(calls)) {
        const [method, path] = made.split(' ')
        const members = { grant_id: grant.grant_id, method, url: `https://${upstream.host}${path}` }
        const dry = (await proxy({ ...members, dry_run: true })).body
        const isRefused = code !== undefined && !asks
        const access = { GET: 'read', DELETE: 'destructive' }[method ?? ''] ?? 'write'
        assert.deepEqual(
          [dry.allowed, dry.asks, dry.term, dry.reason, dry.access],
          [!isRefused, asks, term, isRefused ? code : undefined, access],
          `${said} ${made}`,
        )
        assert.deepEqual(termsOf(dry.grant), expected)
        const before = upstream.received.length
        const { status, body } = await proxy(members)
        const answer = code === 'waiting' ? [202, undefined] : code ? [403, code] : [200, undefined]
        assert.deepEqual([status, body.error?.code], answer, `${said} ${made}`)
        assert.equal(upstream.received.length - before, code ? 0 : 1, `${said} ${made}`)
        const wanted = { provider: 'acme', hosts: [upstream.host], methods: [method] }
        const isSuggested = code === 'access_not_allowed' || code === 'path_not_allowed'
        assert.deepEqual(body.error?.access_request, isSuggested ? wanted : undefined, made)
      }
    }
  })

  test("can't be weakened after they were signed", async (t) => {
    const { service, device, approved, agent, connectionId, user } = await startSigning(t, engine)
    const signed = {
      mode: 'ask_all',
      exceptions: [{ paths: ['/things'], methods: ['DELETE'], action: 'deny' }],
      max_access: 'read',
    }
    const { receipt } = await approved(signed)
    assert.equal((await verifyReceipt(receipt)).verdict, 'signed')
    for (const change of weaker) {
      const { verdict, problem } = await verifyReceipt({ ...receipt, grant: { ...receipt.grant, ...change } })
      assert.equal(verdict, 'invalid', JSON.stringify(change))
      assert.match(problem ?? '', /was granted otherwise/)
    }
    // Nor may whoever relays the signature, or another decision, leave one out.
    const { call } = service
    const asked = await call('POST', '/v4/access-requests', { token: agent.token, body: { provider: 'acme' } })
    const place = `/v4/access-requests/${asked.body.access_request_id}`
    const decision = { connection_id: connectionId, ...signed }
    const { body } = await call('POST', `${place}/challenge`, { token: device.token, body: decision })
    const signature = { challenge_id: body.challenge_id, signature: device.sign(body.signing_input.approve) }
    const sent = (body: object) =>
      call('POST', `${place}/approve`, { token: user.token, body: { ...body, ...signature } })
    const left = Object.keys(signed).map((name) =>
      Object.fromEntries(Object.entries(decision).filter(([each]) => each !== name)),
    )
    const changed = weaker.filter(({ max_access }) => max_access !== null).map((change) => ({ ...decision, ...change }))
    for (const other of [...left, ...changed]) {
      const { status, body } = await sent(other)
      assert.deepEqual([status, body.error.code], [409, 'decision_mismatch'], JSON.stringify(other))
    }
    assert.equal((await sent(decision)).status, 201)
  })

  test('that are malformed are refused, with their member', async (t) => {
    const { service, agent, connectionId, user } = await startSigning(t, engine)
    const { call } = service
    const asked = await call('POST', '/v4/access-requests', { token: agent.token, body: { provider: 'acme' } })
    const one = { paths: ['/'], action: 'ask' }
    const cases: [object, string][] = [
      [{ mode: 'ask' }, 'mode'],
      [{ max_access: 'destructive' }, 'max_access'],
      [{ exceptions: {} }, 'exceptions'],
      [{ exceptions: Array.from({ length: 21 }, () => one) }, 'exceptions'],
      [
        { exceptions: Array.from({ length: 20 }, () => ({ ...one, paths: [1, 2, 3, 4, 5, 6].map((n) => `/${n}`) })) },
        'exceptions',
      ],
      [{ exceptions: [one, { ...one, action: 'refuse' }] }, 'exceptions.1.action'],
      [{ exceptions: [{ ...one, hosts: ['a.example'] }] }, 'exceptions.0.hosts'],
      [{ exceptions: [{ action: 'ask' }] }, 'exceptions.0.paths'],
      [{ exceptions: [{ ...one, paths: [] }] }, 'exceptions.0.paths'],
      [{ exceptions: [{ ...one, paths: ['/', '/a/../b'] }] }, 'exceptions.0.paths.1'],
      [{ exceptions: [{ ...one, paths: ['/a%2fb'] }] }, 'exceptions.0.paths.0'],
      [{ exceptions: [{ ...one, methods: [] }] }, 'exceptions.0.methods'],
      [{ exceptions: [{ ...one, methods: ['GET', 'TRACE'] }] }, 'exceptions.0.methods.1'],
    ]
    for (const [terms, field] of cases) {
      const { status, body, text } = await call('POST', `/v4/access-requests/${asked.body.access_request_id}/approve`, {
        token: user.token,
        body: { connection_id: connectionId, ...terms },
      })
      assert.deepEqual([status, body.error?.field], [400, field], `${JSON.stringify(terms)} ${text}`)
    }
  })

  test('judge each redirect: one that would wait, or is excluded, is the response', async (t) => {
    let answer: [status: number, location: string] = [302, '/next']
    const calling = await startCalling(t, engine, {
      answer: (response, { path }) =>
        path === '/things' ? response.writeHead(answer[0], { location: answer[1] }).end() : response.end('"there"'),
    })
    const cases: [Terms, string, typeof answer, isFollowed: boolean][] = [
      [{ mode: 'ask_writes' }, 'GET', [302, '/next'], true],
      [
        { mode: 'ask_writes', exceptions: [{ paths: ['/next'], methods: null, action: 'ask' }] },
        'GET',
        [302, '/next'],
        false,
      ],
      [{ exceptions: [{ paths: ['/next'], methods: null, action: 'deny' }] }, 'GET', [302, '/next'], false],
      [
        { exceptions: [{ paths: ['/next'], methods: null, action: 'ask' }] },
        'GET',
        [302, '/else/%2e%2e%2fnext'],
        false,
      ],
      [
        { mode: 'ask_writes', exceptions: [{ paths: ['/things'], methods: null, action: 'allow' }] },
        'POST',
        [307, '/next'],
        false,
      ],
      [
        { mode: 'ask_writes', exceptions: [{ paths: ['/things'], methods: null, action: 'allow' }] },
        'POST',
        [303, '/next'],
        true,
      ],
      [
        { mode: 'ask_all', exceptions: [{ paths: ['/things'], methods: null, action: 'allow' }] },
        'POST',
        [303, '/next'],
        false,
      ],
      [{ maxAccess: 'write' }, 'POST', [308, '/next'], true],
    ]
    for (const [terms, method, redirect, isFollowed] of cases) {
      answer = redirect
      const grant_id = await withTerms(calling, terms)
      const before = calling.upstream.received.length
      const { body } = await calling.proxy({ grant_id, method, follow_redirects: true })
      assert.equal(body.status, isFollowed ? 200 : redirect[0], `${JSON.stringify(terms)} ${method} ${redirect.join()}`)
      assert.equal(calling.upstream.received.length - before, isFollowed ? 2 : 1)
    }
  })

  test('count hidden methods, other paths in headers, and streamed bodies', async (t) => {
    const calling = await startCalling(t, engine)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const drafts: Terms = {
      mode: 'ask_writes',
      exceptions: [{ paths: ['/things'], methods: ['POST'], action: 'allow' }],
    }
    const cases: [Terms, object, string | undefined][] = [
      [drafts, { method: 'POST' }, undefined],
      [drafts, { method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }, 'waiting'],
      [drafts, { method: 'POST', headers: form, body: '_method=delete' }, 'waiting'],
      [drafts, { method: 'POST', body: { _method: 'DELETE' } }, 'waiting'],
      [drafts, { method: 'POST', headers: { destination: '/other' } }, 'waiting'],
      [{ maxAccess: 'write' }, { method: 'POST', body: { _method: 'DELETE' } }, 'access_not_allowed'],
      [{ maxAccess: 'read' }, { url: `${calling.upstream.url}?_method=PUT` }, 'access_not_allowed'],
      [
        { exceptions: [{ paths: ['/things'], methods: ['DELETE'], action: 'deny' }] },
        { method: 'POST', headers: form, body: '_method=DELETE' },
        'denied_by_exception',
      ],
      [
        { exceptions: [{ paths: ['/other'], methods: null, action: 'deny' }] },
        { method: 'COPY', headers: { destination: '/other' } },
        'denied_by_exception',
      ],
    ]
    for (const [terms, members, code] of cases) {
      const grant_id = await withTerms(calling, terms)
      const { status, body } = await calling.proxy({ grant_id, ...members })
      const outcome = status === 202 ? body.status : body.error?.code
      assert.equal(outcome, code, `${JSON.stringify(terms)} ${JSON.stringify(members)}`)
    }
    const before = calling.upstream.received.length
    const headers = { 'content-type': 'text/plain' }
    const refused = await calling.upload({ grant_id: await withTerms(calling, { maxAccess: 'read' }), headers })
    // Before its body has arrived.
    const [refusal] = (await once(refused, 'response')) as [IncomingMessage]
    const { error } = (await json(refusal)) as { error: { code: string } }
    assert.deepEqual([refusal.statusCode, error.code], [403, 'access_not_allowed'])
    const held = await calling.upload({ grant_id: await withTerms(calling, { mode: 'ask_writes' }), headers })
    const [answer] = (await once(held.end('a body'), 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 202)
    answer.resume()
    assert.equal(calling.upstream.received.length, before)
  })

  test("let a grant that only reads use GraphQL, which one for GET alone can't", async (t) => {
    const calling = await startCalling(t, engine)
    const { upstream } = calling
    const query = '{ viewer { id } }'
    const mutation = 'mutation { deleteThing(id: 1) { id } }'
    const posted = (text: string) => ({ method: 'POST', body: { query: text } })
    const inUrl = (text: string) => ({ url: `https://${upstream.host}/graphql?query=${encodeURIComponent(text)}` })
    const denial: GrantException = { paths: ['/things'], methods: null, action: 'deny' }
    const cases: [Terms, object, string | undefined][] = [
      [{ allowedMethods: ['GET'] }, posted(query), 'method_not_allowed'],
      [{ allowedMethods: ['GET'] }, inUrl(query), undefined],
      [{ maxAccess: 'read' }, posted(query), undefined],
      [{ maxAccess: 'read' }, inUrl(query), undefined],
      [{ maxAccess: 'read' }, posted(mutation), 'access_not_allowed'],
      [{ maxAccess: 'read' }, inUrl(mutation), 'access_not_allowed'],
      [{ maxAccess: 'read' }, posted(`${query} ${mutation}`), 'access_not_allowed'],
      [{ mode: 'ask_writes' }, posted(query), undefined],
      [{ mode: 'ask_writes' }, posted(mutation), 'waiting'],
      [{ exceptions: [denial] }, posted(mutation), 'denied_by_exception'],
      [{ exceptions: [{ ...denial, methods: ['DELETE'] }] }, posted(mutation), 'denied_by_exception'],
      [{ exceptions: [{ ...denial, methods: ['DELETE'] }] }, posted(query), undefined],
    ]
    for (const [terms, members, code] of cases) {
      const grant_id = await withTerms(calling, terms)
      const { status, body } = await calling.proxy({ grant_id, url: `https://${upstream.host}/graphql`, ...members })
      const outcome = status === 202 ? body.status : body.error?.code
      assert.equal(outcome, code, JSON.stringify([terms, members]))
    }
    // A streamed body is read first.
    for (const [text, status] of [
      [query, 200],
      [mutation, 403],
    ] as const) {
      const grant_id = await withTerms(calling, { maxAccess: 'read' })
      const headers = { 'content-type': 'application/json' }
      const request = await calling.upload({ grant_id, url: `https://${upstream.host}/graphql`, headers })
      request.end(JSON.stringify({ query: text }))
      const [answer] = (await once(request, 'response')) as [IncomingMessage]
      answer.resume()
      assert.equal(answer.statusCode, status)
    }
  })
})

const order = ['connection_id', 'mode', 'exceptions', 'max_access']
function inOrder(one: string, other: string): number {
  return order.indexOf(one) - order.indexOf(other)
}
