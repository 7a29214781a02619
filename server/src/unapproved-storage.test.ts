/**
 * What anyone can have stored in a day. Every route that a self-registered agent or an anonymous caller may write
 * through is called with the largest input that it accepts until it is refused, and the database is measured. A route
 * that is missing here fails the first test.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { insertConnection } from '../testkit/access-requests.ts'
import { onBothDatabases } from '../testkit/databases.ts'
import { insertGrant } from '../testkit/grants.ts'
import { authAad, authEnvelope, keyPair, readBody, register, saveBody, succeed } from '../testkit/legacy-v1.ts'
import type { TestClient } from '../testkit/legacy-v1.ts'
import { acme, client } from '../testkit/providers.ts'
import { startService } from '../testkit/service.ts'
import type { Reply, TestService } from '../testkit/service.ts'
import type { Engine } from './platform/database/database.ts'

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** Every other limit is out of the way. */
const unlimited = [
  ...['REGISTRATIONS_PER_MINUTE', 'REGISTRATIONS_PER_DAY', 'REGISTRATIONS_PER_DAY_48', 'TOKEN_ROTATIONS_PER_HOUR'],
  ...['PROPOSALS_PER_DAY', 'PROPOSALS_PER_DAY_IN_ALL', 'ACCESS_REQUESTS_PENDING', 'ACCESS_REQUESTS_PER_HOUR'],
  ...['SANDBOX_STARTS_PER_HOUR', 'PAIRING_TRIES_PER_MINUTE', 'V1_REGISTRATIONS_PER_MINUTE'],
  ...['V1_REGISTRATIONS_PER_DAY', 'V1_REGISTRATIONS_PER_DAY_48', 'V1_REGISTRATIONS_PER_KEY'],
].map((name) => [`SALLYPORT_${name}`, '1000000'] as const)

const perAgent = 256 * kibibyte
const perAddress = 384 * kibibyte
const inAll = mebibyte
/** The part that is not for calls. */
const ofRequests = 1 / 4
const ofCalls = 3 / 4
const v1PerAddress = 64 * kibibyte

const settings = {
  ...Object.fromEntries(unlimited),
  SALLYPORT_SANDBOX_BURST: '10000',
  SALLYPORT_PROXY_BURST_PER_AGENT: '10000',
  SALLYPORT_REFUSAL_RECORDS_PER_MINUTE: '10000',
  SALLYPORT_UNAPPROVED_BYTES_PER_AGENT_DAY: String(perAgent),
  SALLYPORT_UNAPPROVED_BYTES_PER_ADDRESS_DAY: String(perAddress),
  SALLYPORT_UNAPPROVED_BYTES_PER_DAY: String(inAll),
  SALLYPORT_V1_RECORD_BYTES_PER_ADDRESS_DAY: String(v1PerAddress),
  SALLYPORT_V1_RECORD_BYTES_PER_DAY: String(mebibyte),
  SALLYPORT_GITHUB_CLIENT_ID: 'client',
  SALLYPORT_GITHUB_CLIENT_SECRET: 'a-client-secret-of-github',
}

interface Caller extends TestService {
  agent: { agentId: string; token: string }
  /** Of the legacy protocol. */
  v1: () => Promise<TestClient>
  keyOf: (index: number) => ReturnType<typeof keyPair>
  /** A new address each time. */
  elsewhere: () => string
  /** How often it was called. */
  count: number
}

interface Route {
  /** One call, with the largest input. */
  call: (caller: Caller) => Promise<Reply>
  /** Until its share is used up. Default: 2xx or 3xx. */
  status?: number
  /** Bytes until it is refused, or 0 if it stores nothing. */
  bound: number
}

/** Cannot be compressed. */
const letters = (length: number) => randomBytes(length).toString('hex').slice(0, length)
const symbols = (length: number) =>
  Array.from(randomBytes(length / 2), (byte) => String.fromCodePoint(0x1f300 + byte)).join('')
const asAgent = (path: string, body?: object) => {
  return ({ call, agent }: Caller) => call('POST', path, { token: agent.token, ...(body && { body }) })
}

function largestRequest(): object {
  return {
    provider: 'acme',
    hosts: Array.from({ length: 50 }, () => `${Array.from({ length: 4 }, () => letters(55)).join('.')}.acme.example`),
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    paths: Array.from({ length: 50 }, () => `/${letters(1023)}`),
    reason: symbols(1000),
    user_id: letters(254),
    callback_url: `https://receiver.example/${letters(1900)}`,
  }
}

async function startedSandbox(caller: Caller): Promise<Reply> {
  const started = await asAgent('/v4/sandbox/start')(caller)
  if (started.status !== 201) return started
  const { grant_id } = started.body as { grant_id: string }
  return asAgent(`/v4/grants/${grant_id}/revoke`)(caller)
}

async function cancelled(caller: Caller): Promise<Reply> {
  const asked = await asAgent('/v4/access-requests', largestRequest())(caller)
  if (asked.status !== 201) return asked
  const { access_request_id } = asked.body as { access_request_id: string }
  return asAgent(`/v4/access-requests/${access_request_id}/cancel`)(caller)
}

/** What only people with a token of theirs can do. */
const nothing = (path: string, body: object): Route => ({
  bound: 0,
  status: 401,
  call: ({ call }) => call('POST', path, { body }),
})

/** Calls that wait and keys for tools: only an agent with a grant from a user has them. */
const onlyGranted = (method: string, path: string, body?: object): Route => ({
  bound: 0,
  status: 404,
  call: ({ call, agent }) => call(method, path, { token: agent.token, ...(body && { body }) }),
})

async function v1Call(caller: Caller, path: string, bodyOf: (client: TestClient) => object): Promise<Reply> {
  const v1 = await caller.v1()
  const probe = { ...caller, call: caller.call }
  const reply: Reply[] = []
  const keeping = {
    ...probe,
    call: async (...words: Parameters<Caller['call']>) => reply[reply.push(await caller.call(...words)) - 1] as Reply,
  }
  await succeed(keeping, v1, path, bodyOf(v1)).catch(() => undefined)
  return reply[0] as Reply
}

const routes: Record<string, Route> = {
  'POST /v4/calls/{id}/cancel': onlyGranted('POST', '/v4/calls/cal_01k9x3v7qmf5v8t2w4y6z8abcd/cancel'),
  'POST /v4/agents/keys': onlyGranted('POST', '/v4/agents/keys', { grant_ids: ['grt_01k9x3v7qmf5v8t2w4y6z8abcd'] }),
  'DELETE /v4/agents/keys/{id}': onlyGranted('DELETE', '/v4/agents/keys/key_01k9x3v7qmf5v8t2w4y6z8abcd'),
  'POST /v4/agents/register': {
    bound: perAddress * ofRequests,
    call: ({ call }) => {
      const metadata = { text: letters(4080) }
      return call('POST', '/v4/agents/register', {
        body: { name: symbols(200), owner_user_id: letters(200), metadata },
      })
    },
  },
  'POST /v4/agents/rotate-token': {
    bound: perAgent * ofRequests,
    call: async (caller) => {
      const reply = await asAgent('/v4/agents/rotate-token')(caller)
      if (reply.status === 200) caller.agent.token = (reply.body as { access_token: string }).access_token
      return reply
    },
  },
  'POST /v4/access-requests': {
    bound: perAgent * ofRequests,
    call: (caller) => asAgent('/v4/access-requests', largestRequest())(caller),
  },
  'POST /v4/access-requests/{id}/cancel': { bound: perAgent * ofRequests, call: cancelled },
  'POST /v4/grants/{id}/revoke': { bound: perAgent * ofRequests, call: startedSandbox },
  'POST /v4/sandbox/start': { bound: perAgent * ofRequests, call: asAgent('/v4/sandbox/start') },
  'POST /v4/providers/proposals': {
    bound: perAgent * ofRequests,
    call: (caller) => {
      const url = (name: string) => `https://acme.example/${name}/${letters(1900)}`
      return asAgent('/v4/providers/proposals', {
        provider_name: `Proposed ${caller.count}`,
        slug: `proposed-${letters(12)}`,
        authorization_url: url('authorization'),
        scopes: Array.from({ length: 100 }, (_, index) => `${index}${letters(190)}`),
      })(caller)
    },
  },
  'POST /v4/proxy': {
    bound: perAgent * ofCalls,
    status: 404,
    call: async (caller) => {
      const url = `https://elsewhere.example/${letters(3000)}?${Array.from({ length: 200 }, (_, n) => `n${n}=1`).join('&')}`
      const body = { grant_id: caller.agent.agentId.replace('agt', 'grt'), method: 'GET', url }
      return asAgent('/v4/proxy', body)(caller)
    },
  },
  'POST /v4/devices/pair': {
    bound: inAll / 4,
    status: 404,
    call: ({ call, elsewhere }) =>
      call('POST', '/v4/devices/pair', { body: { pairing_code: 'unknown' }, from: elsewhere() }),
  },
  'GET /v4/auth/login/{id}': {
    bound: inAll / 4,
    call: ({ call, elsewhere }) =>
      call('GET', `/v4/auth/login/github?redirect_after=/${letters(999)}`, { from: elsewhere() }),
  },
  'POST /v4/auth/login': nothing('/v4/auth/login', { login_token: `sp_login_${'a'.repeat(43)}` }),
  'POST /v4/auth/login/preview': nothing('/v4/auth/login/preview', { login_token: `sp_login_${'a'.repeat(43)}` }),
  'POST /v1/authai/register': {
    bound: perAddress * ofRequests,
    call: ({ call, count, keyOf }) => {
      const metadata = { text: letters(4080) }
      const body = { client_public_key: keyOf(count % 8).pem, client_label: symbols(200), metadata }
      return call('POST', '/v1/authai/register', { body })
    },
  },
  'POST /v1/authai/refresh': {
    bound: v1PerAddress,
    call: (caller) =>
      v1Call(caller, '/v1/authai/refresh', (v1) => ({ auth_envelope: authEnvelope(caller, v1, 'authai.refresh') })),
  },
  'POST /v1/authai/rotate-key': {
    bound: perAddress * ofRequests,
    call: async (caller) => {
      const key = caller.keyOf(caller.count % 8)
      const v1 = await caller.v1()
      const aad = authAad({ new_client_public_key: key })
      const body = { auth_envelope: authEnvelope(caller, v1, 'authai.rotate_key', { aad }) }
      v1.key = key
      return v1Call(caller, '/v1/authai/rotate-key', () => ({ ...body, new_client_public_key: key.pem }))
    },
  },
  'POST /v1/kv/save': {
    bound: v1PerAddress,
    call: (caller) => v1Call(caller, '/v1/kv/save', (v1) => saveBody(caller, v1, [{ key: 'k', value: 'v' }])),
  },
  'POST /v1/kv/read': {
    bound: v1PerAddress,
    call: (caller) => v1Call(caller, '/v1/kv/read', (v1) => readBody(caller, v1, ['k'])),
  },
}

async function startStorageTest(t: TestContext, engine: Engine): Promise<TestService> {
  const lookup = () => Promise.resolve([{ address: '93.184.216.34', family: 4 as const }])
  const service = await startService(t, engine, settings, undefined, lookup)
  const body = { ...acme, ...client, provider_name: 'Acme', slug: 'acme', api_hosts: ['*.acme.example'] }
  const { status } = await service.call('POST', '/v4/providers', { token: service.adminToken, body })
  assert.equal(status, 201)
  return service
}

let addresses = 2
async function newCaller(service: TestService): Promise<Caller> {
  const from = `10.0.${++addresses}.1`
  const first = 10 * (addresses % 2)
  const keyOf = (index: number) => keyPair(first + index)
  const call: TestService['call'] = (method, path, options) => service.call(method, path, { from, ...options })
  const here = { ...service, call }
  const { body } = await service.call('POST', '/v4/agents/register', { body: { name: 'a' }, from: '203.0.113.9' })
  const { agent, access_token: token } = body as { agent: { agent_id: string }; access_token: string }
  let v1: Promise<TestClient> | undefined
  let elsewhere = 0
  return {
    ...here,
    agent: { agentId: agent.agent_id, token },
    v1: () => (v1 ??= register(service, keyOf(9))),
    elsewhere: () => `2001:db8:${(++elsewhere).toString(16)}::1`,
    keyOf,
    count: 0,
  }
}

/** On SQLite the pages in use, with indexes; on PostgreSQL the rows. */
async function storedBytes({ database: { engine, queries } }: TestService): Promise<number> {
  if (engine === 'postgres') {
    const tables = await queries.introspection.getTables()
    const sums = tables.map(({ name }) => sql`select sum(pg_column_size(t.*)) as bytes from ${sql.table(name)} t`)
    const { rows } = await sql<{ bytes: string }>`
      select sum(bytes) as bytes from (${sql.join(sums, sql` union all `)}) tables`.execute(queries)
    return Number(rows[0]?.bytes)
  }
  const pragma = async (name: string) => {
    const { rows } = await sql<Record<string, number>>`pragma ${sql.raw(name)}`.execute(queries)
    return rows[0]?.[name] ?? assert.fail()
  }
  return ((await pragma('page_count')) - (await pragma('freelist_count'))) * (await pragma('page_size'))
}

const isUsedUp = ({ status, text: body }: Reply) => status === 429 && /daily storage limit/.test(body)

/** Calls until it is refused. Returns how often it was not. */
async function exhaust(caller: Caller, { call, status }: Route, mostCalls: number): Promise<number> {
  for (let calls = 0; calls < mostCalls; calls++) {
    const reply = await call(caller)
    caller.count++
    if (isUsedUp(reply)) return calls
    if (status === undefined) assert.ok(reply.status < 400, reply.text)
    else assert.equal(reply.status, status, reply.text)
  }
  return mostCalls
}

/** Pages that are not full. */
const slackBytes = 16 * kibibyte

onBothDatabases('what strangers store', (engine) => {
  test('every route that agents or anonymous callers may write through is covered', async (t) => {
    const { app } = await startService(t, engine)
    await app.http.ready()
    const { paths } = app.http.swagger() as { paths: Record<string, Record<string, { security?: object[] }>> }
    const open = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method, { security = [] }]) => {
          const kinds = security.flatMap((one) => Object.keys(one))
          return !['get', 'head', 'options'].includes(method) && (kinds.length === 0 || kinds.includes('agent'))
        })
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    )
    const echo = (name: string) => name.endsWith('/v4/sandbox/echo')
    const listed = Object.keys(routes).filter((name) => !name.startsWith('GET '))
    assert.deepEqual(listed.sort(), open.filter((name) => !echo(name)).sort())
  })

  test('a route that does not say what it stores stops the start', async (t) => {
    await assert.rejects(
      startService(t, engine, {}, undefined, undefined, ({ http }) => {
        http.post('/v4/new', { config: { allow: ['agent'] } }, () => ({}))
      }),
      /does not say what POST \/v4\/new stores/,
    )
  })

  for (const [name, route] of Object.entries(routes)) {
    test(`${name} is refused before it has stored more than its share`, async (t) => {
      const service = await startStorageTest(t, engine)
      const caller = await newCaller(service)
      // The first call also makes what every service has: keys, chains.
      await route.call(await newCaller(service))
      const before = await storedBytes(service)
      const mostCalls = route.bound === 0 || route === routes['POST /v4/proxy'] ? 200 : 2000
      const calls = await exhaust(caller, route, mostCalls)
      await service.app.flushRefusals()
      const grown = (await storedBytes(service)) - before
      assert.ok(grown <= route.bound + slackBytes, `${calls} calls took ${grown} bytes of ${route.bound}`)
      assert.ok(calls < mostCalls || mostCalls === 200, `${calls} calls were not refused`)
    })
  }

  test('reading stores nothing', async (t) => {
    const service = await startStorageTest(t, engine)
    const { app, call } = service
    const { token } = await service.registerAgent()
    await app.http.ready()
    const { paths } = app.http.swagger() as { paths: Record<string, { get?: object } | undefined> }
    const reads = Object.keys(paths).filter((path) => paths[path]?.get && path !== '/v4/auth/login/{id}')
    // The first one makes the service's key.
    await call('GET', '/v1/authai/public-key')
    const before = await storedBytes(service)
    for (const path of reads) {
      for (const as of [{}, { token }]) await call('GET', path.replaceAll(/\{\w+\}/g, 'github'), as)
    }
    assert.equal(await storedBytes(service), before)
    assert.ok(reads.length > 20)
  })

  test('many agents at one address share its part, and many addresses share that of all', async (t) => {
    const service = await startStorageTest(t, engine)
    const ask = routes['POST /v4/access-requests'] ?? assert.fail()
    const here = await newCaller(service)
    const before = await storedBytes(service)
    const agents: Caller[] = []
    for (let agent = 0; agent < 4; agent++) agents.push({ ...(await newCaller(service)), call: here.call })
    for (const caller of agents) await exhaust(caller, ask, 20)
    const ofAddress = (await storedBytes(service)) - before
    assert.ok(ofAddress <= perAddress * ofRequests + slackBytes, `${ofAddress}`)
    for (let address = 0; address < 6; address++) await exhaust(await newCaller(service), ask, 20)
    const all = (await storedBytes(service)) - before
    assert.ok(all <= inAll * ofRequests + slackBytes, `${all}`)
    assert.ok(all > ofAddress)
    assert.ok(isUsedUp(await ask.call(await newCaller(service))))
    service.clock.advance(86_400)
    assert.equal((await ask.call(here)).status, 201, 'the next day it goes on')
  })

  test('an agent that a user has approved is not affected by strangers', async (t) => {
    const service = await startStorageTest(t, engine)
    const ask = routes['POST /v4/access-requests'] ?? assert.fail()
    const person = await service.logIn()
    const known = await newCaller(service)
    const { rows } = await sql<{ id: string }>`select provider_id as id from providers`.execute(
      service.database.queries,
    )
    const connectionId = await insertConnection(service, person, rows[0]?.id ?? '', 'ada')
    await insertGrant(service, { agentId: known.agent.agentId, userId: person.userId, connectionId })
    for (let address = 0; address < 8; address++) await exhaust(await newCaller(service), ask, 20)
    assert.equal((await ask.call(known)).status, 201)
    await exhaust(known, ask, 20)
    assert.ok(isUsedUp(await ask.call(known)), 'its own part is limited')
    const { status } = await service.call('POST', '/v4/devices/pairing-codes', { token: person.token })
    assert.equal(status, 201, 'people have no limit')
  })

  test('what is refused for another reason costs nothing', async (t) => {
    const caller = await newCaller(await startStorageTest(t, engine))
    const unknown = asAgent('/v4/access-requests', { ...largestRequest(), provider: 'unknown' })
    for (let time = 0; time < 50; time++) assert.equal((await unknown(caller)).status, 404)
    assert.equal((await routes['POST /v4/access-requests']?.call(caller))?.status, 201)
  })
})
