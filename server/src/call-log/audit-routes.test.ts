import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import { createStores } from '../stores.ts'
import { headText } from '../audit/chain-heads.ts'
import type { Engine } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'

async function startReading(t: TestContext, engine: Engine) {
  const service = await startService(t, engine)
  const { audit } = createStores({ ...service, clock: service.clock.now })
  const agent = await service.registerAgent()
  const user = await service.logIn({ email: 'ada@example.com' })
  const get = async (path: string, token = service.adminToken, accept = 'application/json') =>
    service.call('GET', `/v4/audit${path}`, { token, headers: { accept } })
  const ids = async (path: string, token?: string) =>
    ((await get(path, token)).body.records as { audit_id: string }[]).map(({ audit_id }) => audit_id)
  const put = (record: Partial<AuditRecord>) => {
    service.clock.advance(1)
    return audit.append(service.database.queries, { event: 'proxy.attempt', at: service.clock.now(), ...record })
  }
  return { ...service, audit, agent, user, get, ids, put }
}

onBothDatabases('reading the audit log', (engine) => {
  test('an agent sees its own records, a user theirs, an admin all, newest first', async (t) => {
    const { agent, user, get, ids, put, registerAgent, logIn } = await startReading(t, engine)
    const other = await registerAgent()
    const stranger = await logIn({ email: 'eve@example.com' })
    const both = await put({ agentId: agent.agentId, userId: user.userId })
    const theirs = await put({ agentId: other.agentId, userId: stranger.userId })
    const shared = await put({ agentId: other.agentId, userId: user.userId })
    assert.deepEqual(await ids('?event=proxy.attempt', agent.token), [both])
    assert.deepEqual(await ids('?event=proxy.attempt', user.token), [shared, both])
    assert.deepEqual(await ids('?event=proxy.attempt', stranger.token), [theirs])
    assert.deepEqual(await ids('?event=proxy.attempt'), [shared, theirs, both])
    for (const filter of [`?agent_id=${other.agentId}`, '?event=access_request.denied']) {
      assert.deepEqual(await ids(filter, agent.token), [], 'a filter widens nothing')
    }
    assert.equal((await get('', 'none')).status, 401)
  })

  test('a device may not read it', async (t) => {
    const { user, call, get } = await startReading(t, engine)
    const { body: code } = await call('POST', '/v4/devices/pairing-codes', { token: user.token })
    const { body } = await call('POST', '/v4/devices/pair', { body: { pairing_code: code.pairing_code } })
    assert.equal((await get('', body.session_token)).status, 403)
  })

  test('a call is one record with its hops and its outcome, which may be unknown', async (t) => {
    const { agent, get, put, ids } = await startReading(t, engine)
    const { agentId } = agent
    const lost = await put({ agentId, detail: { method: 'GET', host: 'api.example.com', path: '/a' } })
    const auditId = await put({ agentId, provider: 'acme', detail: { method: 'POST' } })
    await put({ auditId, event: 'proxy.hop', detail: { host: 'b.example.com' } })
    await put({ auditId, event: 'proxy.outcome', outcome: 'answered', detail: { status: 201, redactions: 1 } })
    const refused = await put({ agentId, event: 'proxy.refused', detail: { code: 'host_not_allowed' } })
    const { body } = await get(`?agent_id=${agentId}&provider=acme`)
    const [record, ...others] = body.records
    assert.deepEqual(others, [])
    assert.deepEqual(
      [record.audit_id, record.outcome, record.result, record.hops[0].detail, record.detail],
      [auditId, 'answered', { status: 201, redactions: 1 }, { host: 'b.example.com' }, { method: 'POST' }],
    )
    assert.ok(record.concluded_at > record.at)
    const byOutcome = { answered: [auditId], unknown: [lost], refused: [refused], failed: [] }
    for (const [outcome, expected] of Object.entries(byOutcome)) {
      assert.deepEqual(await ids(`?outcome=${outcome}`), expected, outcome)
      assert.deepEqual(await ids(`?outcome=${outcome}`, agent.token), expected, outcome)
    }
  })

  test('filters by grant and time, and refuses unknown filters', async (t) => {
    const { agent, clock, get, ids, put } = await startReading(t, engine)
    const { agentId } = agent
    const grantId = newId('grt', clock.now())
    const early = await put({ agentId, grantId })
    const moment = clock.now().toISOString()
    const late = await put({ agentId, grantId: newId('grt', clock.now()) })
    assert.deepEqual(await ids(`?grant_id=${grantId}`, agent.token), [early])
    assert.deepEqual(await ids(`?since=${moment}&event=proxy.attempt`), [late, early])
    assert.deepEqual(await ids(`?until=${moment}&event=proxy.attempt`), [])
    const after = new Date(Date.parse(moment) + 1).toISOString()
    assert.deepEqual(await ids(`?since=${after}&event=proxy.attempt`), [late])
    assert.deepEqual(await ids(`?until=${after}&event=proxy.attempt`), [early])
    for (const wrong of [
      'since=yesterday',
      'event=proxy.outcome',
      'outcome=maybe',
      'agents=1',
      'limit=201',
      'cursor=1',
    ]) {
      assert.equal((await get(`?${wrong}`)).body.error.code, 'invalid_field', wrong)
    }
    assert.equal((await get('?since=2016-12-31T23:59:60Z')).body.error.field, 'since')
  })

  test('pages have every record once, also with equal times', async (t) => {
    const { agent, audit, clock, database, get } = await startReading(t, engine)
    const made = await database.transaction(async (tx) => {
      const record = { event: 'proxy.attempt' as const, at: clock.now(), agentId: agent.agentId }
      return Promise.all(Array.from({ length: 7 }, () => audit.append(tx, record)))
    })
    const seen: string[] = []
    for (let cursor = ''; ;) {
      const { body } = await get(`?limit=3&event=proxy.attempt${cursor}`, agent.token)
      for (const { audit_id } of body.records) seen.push(audit_id)
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
    }
    assert.deepEqual(seen, made.toSorted().reverse())
  })

  test('a rare record is found over several pages, each of which reads a limited number', async (t) => {
    const { agent, audit, clock, database, get } = await startReading(t, engine)
    const { agentId } = agent
    const rare = await audit.append(database.queries, { event: 'sandbox.started', at: clock.now(), agentId })
    clock.advance(1)
    await database.transaction(async (tx) => {
      for (let count = 0; count < 5_100; count++) {
        await audit.append(tx, { event: 'proxy.attempt', at: clock.now(), agentId })
      }
    })
    const first = await get('?event=sandbox.started', agent.token)
    assert.deepEqual(first.body.records, [])
    const second = await get(`?event=sandbox.started&cursor=${first.body.next_cursor}`, agent.token)
    assert.deepEqual([second.body.records[0].audit_id, second.body.next_cursor], [rare, null])
    const all = await get('?event=sandbox.started', agent.token, 'application/x-ndjson')
    assert.equal(all.text.split('\n').length, 2, 'an export goes on by itself')
  })

  test('an agent does not learn which user its hint matched, approved or blocked it', async (t) => {
    const { call, ask, asked, approve, agent, user, adminToken } = await startAccessTest(t, engine)
    for (const hint of ['ada@example.com', 'nobody@example.com']) {
      assert.equal((await ask({ user_id: hint })).status, 201)
    }
    assert.equal((await approve(await asked())).status, 201)
    await call('POST', `/v4/muted-agents/${agent.agentId}/block`, { token: user.token })
    const of = async (token: string) => (await call('GET', '/v4/audit', { token })).body.records as any[]
    const shown = (await of(agent.token)).filter(({ event }) => event === 'access_request.created')
    assert.equal(shown.length, 3)
    const own = { audit_id: '', at: '', request_id: '' }
    const [, one, other] = shown.map((record) => ({ ...record, ...own, detail: Object.keys(record.detail as object) }))
    assert.deepEqual(one, other)
    assert.ok(!JSON.stringify(await of(agent.token)).includes(user.userId))
    assert.ok(!(await of(agent.token)).some(({ event }) => event === 'agent.blocked'))
    const toUser = await of(user.token)
    assert.equal(toUser.filter(({ event }) => event === 'access_request.created').length, 1)
    assert.ok(toUser.some(({ event }) => event === 'agent.blocked'))
    assert.equal((await of(adminToken)).filter(({ event }) => event === 'access_request.created').length, 3)
  })

  test('calls are found by words in their method, host and path, in pages', async (t) => {
    const { agent, user, get, ids, put } = await startReading(t, engine)
    const whose = { agentId: agent.agentId, userId: user.userId }
    const detail = { method: 'POST', host: 'api.example.com', path: '/items', query: ['secret'] }
    const rare = await put({ ...whose, detail, connectionId: 'con_x' })
    const refused = await put({ ...whose, event: 'proxy.refused', detail: { ...detail, method: 'DELETE', code: 'x' } })
    await put({ ...whose, event: 'session.started', detail: { host: 'api.example.com' } })
    await put({ userId: 'usr_other', detail })
    const search = (q: string, more = '') => ids(`?q=${encodeURIComponent(q)}${more}`, user.token)
    assert.deepEqual(await search('example.com/items'), [refused, rare])
    assert.deepEqual(await search('ITEMS post'), [rare])
    assert.deepEqual(await search('secret'), [], 'what else is on record is not searched')
    assert.deepEqual(await search('%items%'), [], 'a word is a word')
    assert.deepEqual(await search('items', '&event=proxy.refused'), [refused])
    assert.deepEqual(await search('items', '&limit=1'), [refused])
    assert.deepEqual(await search('items', `&limit=1&cursor=${refused}`), [rare])
    assert.deepEqual(await ids('?connection_id=con_x', user.token), [rare])
    assert.equal((await get(`?q=${'x'.repeat(201)}`, user.token)).body.error.field, 'q')
  })

  test('a rare call is found over several pages, each of which reads a limited number', async (t) => {
    const { user, audit, clock, database, get, put } = await startReading(t, engine)
    const { userId } = user
    const rare = await put({ userId, detail: { method: 'GET', host: 'rare.example.com', path: '/' } })
    clock.advance(1)
    await database.transaction(async (tx) => {
      for (let count = 0; count < 5_600; count++) {
        await audit.append(tx, { event: 'proxy.attempt', at: clock.now(), userId, detail: { method: 'GET' } })
      }
    })
    const first = await get('?q=rare', user.token)
    assert.deepEqual(first.body.records, [])
    const second = await get(`?q=rare&cursor=${first.body.next_cursor}`, user.token)
    assert.deepEqual([second.body.records[0].audit_id, second.body.next_cursor], [rare, null])
    const all = await get('?q=rare&format=ndjson', user.token)
    assert.equal(all.text.split('\n').length, 2, 'an export goes on by itself')
  })

  test('a record can be read by those who may list it', async (t) => {
    const { agent, user, get, put, registerAgent, logIn } = await startReading(t, engine)
    const auditId = await put({ agentId: agent.agentId, userId: user.userId })
    await put({ auditId, event: 'proxy.outcome', outcome: 'answered', detail: { status: 200 } })
    const blocked = await put({ event: 'agent.blocked', agentId: agent.agentId, userId: user.userId })
    for (const token of [agent.token, user.token, undefined]) {
      const { body } = await get(`/${auditId}`, token)
      assert.deepEqual([body.audit_id, body.outcome, body.agent_name], [auditId, 'answered', 'an agent'])
      assert.equal(body.user_id, token === agent.token ? null : user.userId)
    }
    assert.equal((await get(`/${blocked}`, user.token)).status, 200)
    const strangers = [(await registerAgent()).token, (await logIn({ email: 'eve@example.com' })).token]
    for (const token of strangers) assert.equal((await get(`/${auditId}`, token)).body.error.code, 'not_found')
    assert.equal((await get(`/${blocked}`, agent.token)).body.error.code, 'not_found')
    assert.equal((await get('/aud_none')).body.error.code, 'not_found')
  })

  test('a link in a page can export with the cookie, as a file, with any Accept header', async (t) => {
    const { user, call, put } = await startReading(t, engine)
    await put({ userId: user.userId, detail: { method: 'GET' } })
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const headers = { cookie: user.cookie, accept, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    for (const [format, type] of [
      ['csv', /^text\/csv/],
      ['ndjson', /^application\/x-ndjson/],
    ] as const) {
      const { status, headers: answered } = await call('GET', `/v4/audit?format=${format}`, { headers })
      assert.equal(status, 200)
      assert.match(String(answered['content-type']), type)
      assert.equal(answered['content-disposition'], `attachment; filename="audit.${format}"`)
    }
    const { body } = await call('GET', '/v4/audit?format=json', { headers: { ...headers, accept: 'text/csv' } })
    assert.ok(Array.isArray(body.records))
    assert.equal((await call('GET', '/v4/audit?format=xml', { headers })).body.error.field, 'format')
  })

  test('exports have the same records as JSON lines and CSV, without formulas', async (t) => {
    const { agent, get, put } = await startReading(t, engine)
    const { agentId } = agent
    const paths = ['=1+1', '+1', '-1', '@a', '\t=1', '\uff1d1', ' =1', '"a",b', '/plain']
    for (const path of paths) await put({ agentId, detail: { method: 'GET', path } })
    const listed = (await get('?limit=200', agent.token)).body.records
    const ndjson = await get('', agent.token, 'application/x-ndjson')
    assert.equal(ndjson.headers['content-type'], 'application/x-ndjson')
    assert.deepEqual(
      ndjson.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
      listed,
    )
    const csv = await get('?event=proxy.attempt', agent.token, 'text/csv')
    assert.match(String(csv.headers['content-type']), /^text\/csv/)
    assert.match(String(csv.headers['content-disposition']), /^attachment/)
    const lines = csv.text.split('\r\n')
    assert.equal(lines.length, paths.length + 2)
    assert.match(lines[0] ?? '', /^audit_id,event,at,outcome,/)
    for (const sign of ["'=1+1", "'+1", "'-1", "'@a", "'\t=1", "'\uff1d1", "' =1"]) {
      assert.ok(csv.text.includes(`,${sign},`) || csv.text.includes(`,"${sign}",`), sign)
    }
    assert.ok(csv.text.includes(',"""a"",b",'))
    assert.ok(csv.text.includes(',/plain,'))
    assert.equal((await get('?limit=5', agent.token, 'text/csv')).body.error.field, 'limit')
    assert.ok(!csv.text.includes('usr_'))
  })

  test('an export ends with its session or agent', async (t) => {
    const { agent, user, app, audit, adminToken, call, clock, config, database } = await startReading(t, engine)
    await database.transaction(async (tx) => {
      const detail = { path: 'x'.repeat(1000) }
      const whose = { agentId: agent.agentId, userId: user.userId }
      for (let count = 0; count < 2_000; count++) {
        await audit.append(tx, { event: 'proxy.attempt', at: clock.now(), ...whose, detail })
      }
    })
    const linesOf = async (token: string, meanwhile: () => Promise<unknown>) => {
      const headers = { host: config.baseUrl.host, authorization: `Bearer ${token}`, accept: 'application/x-ndjson' }
      const reply = await app.http.inject({ url: '/v4/audit?event=proxy.attempt', headers, payloadAsStream: true })
      let text = ''
      try {
        for await (const chunk of reply.stream()) {
          if (text === '') await meanwhile()
          text += String(chunk)
        }
        return text.split('\n').length - 1
      } catch {
        return 'broken off'
      }
    }
    assert.equal(await linesOf(user.token, () => Promise.resolve()), 2_000)
    const logOut = () => call('POST', '/v4/auth/logout', { token: user.token })
    assert.equal(await linesOf(user.token, logOut), 'broken off')
    const disable = () => call('POST', `/v4/agents/${agent.agentId}/disable`, { token: adminToken })
    assert.equal(await linesOf(agent.token, disable), 'broken off')
  })

  test('anyone can read the public key that heads are signed with', async (t) => {
    const { audit, call, put } = await startReading(t, engine)
    await put({})
    const { status, body } = await call('GET', '/v4/audit/key')
    assert.equal(status, 200)
    assert.match(body.pem, /^-----BEGIN PUBLIC KEY-----/)
    const [head] = await audit.signHeads()
    assert.ok(head)
    const [, input = '', signature = ''] = /^(.*)\.([\w-]+)$/.exec(headText(head)) ?? []
    for (const key of [createPublicKey(body.pem), createPublicKey({ key: body.jwk, format: 'jwk' })]) {
      assert.ok(verify(null, Buffer.from(input), key, Buffer.from(signature, 'base64url')))
    }
  })
})
