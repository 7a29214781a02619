/**
 * A credential that ends while its call is under way changes nothing any more. Every route that changes something is
 * here, for each kind of caller that it admits: a route that is missing fails the first test.
 */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { approvalMessage } from '@sallyport/protocol/approval-message'
import { insertConnection } from '../testkit/access-requests.ts'
import type { Person } from '../testkit/access-requests.ts'
import { callsOnAskers } from '../testkit/asker-calls.ts'
import { callsThat } from '../testkit/asking-calls.ts'
import { callsThatChangeGrants } from '../testkit/grant-changing-calls.ts'
import { callsThatPause } from '../testkit/pausing-calls.ts'
import { callsOnKeys } from '../testkit/tool-keys.ts'
import { once } from '../testkit/once.ts'
import { onBothDatabases } from '../testkit/databases.ts'
import { pairDevice, signAction } from '../testkit/device.ts'
import type { TestDevice } from '../testkit/device.ts'
import { startOAuthServer } from '../testkit/oauth-server.ts'
import type { OAuthServer } from '../testkit/oauth-server.ts'
import { reaching } from '../testkit/providers.ts'
import { startService } from '../testkit/service.ts'
import type { TestService } from '../testkit/service.ts'
import type { Engine } from './platform/database/database.ts'

type Kind = 'agent' | 'user' | 'device'
interface Call {
  path: string
  body?: object
}
interface World extends TestService {
  oauth: OAuthServer
  /** Stays signed in, whoever else is not. */
  operator: (method: string, path: string, body?: object) => Promise<any>
  agent: { agentId: string; token: string }
  me: Person
  /** Paired when it is first asked for. */
  device: () => Promise<TestDevice>
  connectionId: () => Promise<string>
}
type Case = (world: World) => Promise<Call> | Call
const slug = 'acme'

async function asked({ call, agent }: World): Promise<string> {
  const { body } = await call('POST', '/v4/access-requests', { token: agent.token, body: { provider: slug } })
  return body.access_request_id
}

async function granted(world: World): Promise<string> {
  const path = `/v4/access-requests/${await asked(world)}/approve`
  const { body } = await world.call('POST', path, {
    token: world.me.token,
    body: { connection_id: await world.connectionId() },
  })
  return body.grant_id
}

async function signed({ call, ...world }: World, id: string, verdict: 'approve' | 'deny') {
  const device = await world.device()
  const { body } = await call('POST', `/v4/access-requests/${id}/challenge`, { token: device.token })
  const { challenge_id, nonce } = body as { challenge_id: string; nonce: string }
  return { challenge_id, signature: device.sign(approvalMessage(challenge_id, nonce, id, verdict)) }
}

const asking = (world: World) => ({ ...world, asked: () => asked(world) })
async function muted(world: World): Promise<string> {
  await world.call('POST', `/v4/access-requests/${await asked(world)}/deny`, { token: world.me.token })
  return world.agent.agentId
}

const credential = { username: 'ada', password: 'a-password-of-sixteen-or-more' }
async function entered({ call, adminToken }: World) {
  const name = { provider_name: 'Keys', slug: `keys-${randomBytes(4).toString('hex')}` }
  const body = { ...name, api_hosts: ['api.keys.example'], auth_methods: [{ kind: 'basic' }] }
  await call('POST', '/v4/providers', { token: adminToken, body })
  return { provider_slug: body.slug, credential }
}

const onRequest = (action: string): Case => {
  return async (world) => ({ path: `/v4/access-requests/${await asked(world)}/${action}` })
}
const onConnection = (action: string): Case => {
  return async ({ connectionId }) => ({ path: `/v4/connections/${await connectionId()}${action}` })
}
const onDevice = (action: string, body?: object): Case => {
  return async ({ device }) => ({ path: `/v4/devices/${(await device()).deviceId}${action}`, ...(body && { body }) })
}
const plain = (path: string, body?: object): Case => {
  return () => ({ path, ...(body && { body }) })
}
const pushToken = { push_token: 'ab'.repeat(32) }
const sandboxGrant: Case = async ({ call, agent }) => {
  const { body } = await call('POST', '/v4/sandbox/start', { token: agent.token })
  return { path: `/v4/grants/${body.grant_id}/revoke` }
}

const cases: Record<string, Case> = {
  ...callsThat(asking),
  'agent POST /v4/agents/rotate-token': plain('/v4/agents/rotate-token'),
  ...callsOnKeys(granted),
  'agent POST /v4/access-requests': plain('/v4/access-requests', { provider: slug }),
  'agent POST /v4/access-requests/{id}/cancel': onRequest('cancel'),
  'agent POST /v4/grants/{id}/revoke': sandboxGrant,
  'agent POST /v4/sandbox/start': plain('/v4/sandbox/start'),
  'agent POST /v4/providers/proposals': ({ oauth }) => ({
    path: '/v4/providers/proposals',
    body: { provider_name: `Proposed ${Math.random()}`, issuer_url: oauth.issuer },
  }),
  'agent POST /v4/proxy': async ({ call, agent }) => {
    const { body } = await call('POST', '/v4/sandbox/start', { token: agent.token })
    return { path: '/v4/proxy', body: body.example.body }
  },
  'user POST /v4/access-requests/{id}/approve': async (world) => ({
    path: `/v4/access-requests/${await asked(world)}/approve`,
    body: { connection_id: await world.connectionId() },
  }),
  'user POST /v4/access-requests/{id}/deny': onRequest('deny'),
  ...callsOnAskers(asked, muted),
  ...callsThatPause,
  ...callsThatChangeGrants(granted),
  'user POST /v4/devices/pairing-codes': plain('/v4/devices/pairing-codes'),
  'user POST /v4/devices/{id}/push-token': onDevice('/push-token', pushToken),
  'user DELETE /v4/devices/{id}': onDevice(''),
  'user POST /v4/devices/{id}/enrol': onDevice('/enrol'),
  'user PATCH /v4/auth/me': async ({ device }) => {
    await device()
    return { path: '/v4/auth/me', body: { require_device_approval: true } }
  },
  'user POST /v4/grants/{id}/revoke': async (world) => ({ path: `/v4/grants/${await granted(world)}/revoke` }),
  'user DELETE /v4/connections/{id}': onConnection(''),
  'user POST /v4/connections': async (world) => ({ path: '/v4/connections', body: await entered(world) }),
  'user PUT /v4/connections/{id}/credential': async (world) => {
    const { body } = await world.call('POST', '/v4/connections', { token: world.me.token, body: await entered(world) })
    return { path: `/v4/connections/${body.connection_id}/credential`, body: { credential } }
  },
  'user POST /v4/connections/{id}/check': onConnection('/check'),
  'user POST /v4/oauth/connect/start': plain('/v4/oauth/connect/start', { provider_slug: slug }),
  'user POST /v4/oauth/device/start': plain('/v4/oauth/device/start', { provider_slug: slug }),
  'user POST /v4/oauth/device/poll': async ({ call, me, clock }) => {
    const begun = await call('POST', '/v4/oauth/device/start', { token: me.token, body: { provider_slug: slug } })
    clock.advance(begun.body.interval)
    return { path: '/v4/oauth/device/poll', body: { device_flow_id: begun.body.device_flow_id } }
  },
  'user POST /v4/auth/logout': plain('/v4/auth/logout'),
  'user POST /v4/auth/logout-all': plain('/v4/auth/logout-all'),
  'user DELETE /v4/auth/sessions/{id}': async ({ call, me, logIn }) => {
    const other = await logIn({ user_id: me.userId })
    const { body } = await call('GET', '/v4/auth/me', { token: other.token })
    return { path: `/v4/auth/sessions/${body.session.session_id}` }
  },
  'device POST /v4/access-requests/{id}/challenge': onRequest('challenge'),
  'device POST /v4/access-requests/{id}/approve': async (world) => {
    const id = await asked(world)
    const body = { connection_id: await world.connectionId(), ...(await signed(world, id, 'approve')) }
    return { path: `/v4/access-requests/${id}/approve`, body }
  },
  'device POST /v4/access-requests/{id}/deny': async (world) => {
    const id = await asked(world)
    return { path: `/v4/access-requests/${id}/deny`, body: await signed(world, id, 'deny') }
  },
  'device POST /v4/devices/challenge': plain('/v4/devices/challenge', { action: 'off' }),
  'device POST /v4/devices/{id}/push-token': onDevice('/push-token', pushToken),
  'device DELETE /v4/devices/{id}': onDevice(''),
  'device POST /v4/devices/{id}/enrol': onDevice('/enrol'),
  'device PATCH /v4/auth/me': async (world) => ({
    path: '/v4/auth/me',
    body: { require_device_approval: false, ...(await signAction(world, await world.device(), 'off')) },
  }),
}

/** Refreshing a token is the service's own work and no transaction of the caller's. */
const actsOnNothing = new Set(['user POST /v4/connections/{id}/check'])
/** A refused call is on record; proxy/replaced-token.test.ts says that nothing went out. */
const recordsRefusal = new Set(['agent POST /v4/proxy'])

const settings = {
  SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000',
  SALLYPORT_PAIRING_CODES_PER_HOUR: '1000',
  SALLYPORT_PROPOSALS_PER_DAY: '1000',
}

async function startWorld(t: TestContext, engine: Engine) {
  const oauth = await startOAuthServer(t)
  const service = { ...(await startService(t, engine, { ...settings, ...reaching(oauth) })), oauth }
  const moments: { identified?: (() => void) | undefined; beforeHandler?: (() => Promise<unknown>) | undefined } = {}
  service.app.http.addHook('preParsing', (_request, _reply, _payload, done) => {
    moments.identified?.()
    done()
  })
  service.app.http.addHook('preHandler', async () => {
    const act = moments.beforeHandler
    moments.beforeHandler = undefined
    await act?.()
  })
  const created = await service.call('POST', '/v4/providers', {
    token: service.adminToken,
    body: {
      provider_name: 'Acme',
      slug,
      issuer_url: oauth.issuer,
      client_id: oauth.client.clientId,
      client_secret: oauth.client.clientSecret,
    },
  })
  assert.equal(created.status, 201, created.text)
  const { provider_id: providerId } = created.body as { provider_id: string }
  const make = async (): Promise<World> => {
    const me = await service.logIn({ email: `${Math.random()}@example.com` })
    return {
      ...service,
      me,
      agent: await service.registerAgent(),
      device: once(() => pairDevice(service, me)),
      connectionId: once(() => insertConnection(service, me, providerId, 'ada')),
      operator: async (method, path, body) => {
        const reply = await service.call(method, path, { token: service.adminToken, ...(body && { body }) })
        assert.equal(reply.status < 300, true, reply.text)
        return reply.body
      },
    }
  }
  return { service, moments, make }
}

type Carrier = 'bearer' | 'cookie'

/** Each case, with each way to send its credential: a session comes as a cookie too, from our own pages. */
const calls = Object.entries(cases).flatMap(([name, prepare]) => {
  const [kind, method] = name.split(' ') as [Kind, string]
  const carriers: Carrier[] = kind === 'user' ? ['bearer', 'cookie'] : ['bearer']
  return carriers.map((carrier) => ({ name: `${name} by ${carrier}`, caseName: name, kind, method, prepare, carrier }))
})

async function credentialOf({ agent, me, device, config }: World, kind: Kind, carrier: Carrier) {
  if (carrier === 'cookie') return { cookie: me.cookie, origin: config.baseUrl.origin }
  const token = kind === 'agent' ? agent.token : kind === 'user' ? me.token : (await device()).token
  return { authorization: `Bearer ${token}` }
}

/** The ways in which each kind of credential ends; the calls take them in turn. */
const endings: Record<Kind, Record<string, (world: World) => Promise<unknown>>> = {
  agent: {
    'its token is replaced': ({ call, agent }) => call('POST', '/v4/agents/rotate-token', { token: agent.token }),
    'it is disabled': ({ operator, agent }) => operator('POST', `/v4/agents/${agent.agentId}/disable`),
  },
  user: {
    'they end all sessions': ({ call, me }) => call('POST', '/v4/auth/logout-all', { token: me.token }),
    'they sign out': ({ call, me }) => call('POST', '/v4/auth/logout', { token: me.token }),
    'they are disabled': ({ operator, me }) => operator('POST', `/v4/users/${me.userId}/disable`),
  },
  device: {
    'it is removed': async ({ call, me, device }) => {
      const { status, text } = await call('DELETE', `/v4/devices/${(await device()).deviceId}`, { token: me.token })
      assert.equal(status, 200, text)
    },
    'its user is disabled': ({ operator, me }) => operator('POST', `/v4/users/${me.userId}/disable`),
  },
}

const notState = new Set(['rate_limits', 'migrations'])

/** Everything that is stored, but for how often somebody has asked. */
async function stored({ database }: World): Promise<string> {
  const tables = await database.queries.introspection.getTables()
  const all: Record<string, string[]> = {}
  for (const { name } of tables) {
    if (notState.has(name)) continue
    const rows = await database.queries
      .selectFrom(name as 'users')
      .selectAll()
      .execute()
    all[name] = rows.map((row) => JSON.stringify(row)).sort()
  }
  return JSON.stringify(all, null, 1)
}

/** Over a socket: everything but the last byte, and that one once `meanwhile` is over. */
async function heldBack(
  port: number,
  { service, moments }: Awaited<ReturnType<typeof startWorld>>,
  call: {
    method: string
    credential: Record<string, string>
    path: string
    body: object
    meanwhile: () => Promise<unknown>
  },
): Promise<number> {
  const text = Buffer.from(JSON.stringify(call.body))
  const identified = Promise.withResolvers<undefined>()
  moments.identified = () => {
    identified.resolve(undefined)
  }
  const request = httpRequest({
    port,
    method: call.method,
    path: call.path,
    agent: false,
    headers: {
      host: service.config.baseUrl.host,
      ...call.credential,
      'content-type': 'application/json',
      'content-length': text.length,
    },
  })
  const answered = new Promise<number>((resolve, reject) => {
    request.on('error', reject).on('response', (response) => {
      response.resume().on('end', () => {
        resolve(response.statusCode ?? 0)
      })
    })
  })
  request.write(text.subarray(0, -1))
  await identified.promise
  moments.identified = undefined
  await call.meanwhile()
  request.end(text.subarray(-1))
  return answered
}

test('each of these calls works while the credential is valid', async (t) => {
  const { make } = await startWorld(t, 'sqlite')
  for (const { name, kind, method, prepare, carrier } of calls) {
    const world = await make()
    const { path, body = {} } = await prepare(world)
    const reply = await world.call(method, path, { headers: await credentialOf(world, kind, carrier), body })
    assert.ok(reply.status < 300, `${name}: ${reply.text}`)
  }
})

onBothDatabases('a credential that ends during its call', (engine) => {
  test('every route that changes something is covered, for each kind of caller', async (t) => {
    const { app } = await startService(t, engine)
    await app.http.ready()
    const { paths } = app.http.swagger() as { paths: Record<string, Record<string, { security?: object[] }>> }
    const routes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => !['get', 'head'].includes(method))
        .flatMap(([method, { security = [] }]) =>
          security
            .flatMap((one) => Object.keys(one))
            .filter((kind) => kind === 'agent' || kind === 'user' || kind === 'device')
            .map((kind) => `${kind} ${method.toUpperCase()} ${path}`),
        ),
    )
    assert.deepEqual(Object.keys(cases).sort(), routes.sort())
  })

  test('a call whose last byte arrives after the end is 401 and changes nothing', async (t) => {
    const tools = await startWorld(t, engine)
    await tools.service.app.http.listen({ port: 0, host: '127.0.0.1' })
    const { port } = tools.service.app.http.server.address() as { port: number }
    let turn = 0
    for (const { name, kind, method, prepare, carrier } of calls) {
      const world = await tools.make()
      const { path, body = {} } = await prepare(world)
      const ways = Object.entries(endings[kind])
      const [how, end] = ways[turn++ % ways.length] ?? assert.fail()
      let before = ''
      const meanwhile = async () => {
        await end(world)
        before = await stored(world)
      }
      const credential = await credentialOf(world, kind, carrier)
      const status = await heldBack(port, tools, { method, credential, path, body, meanwhile })
      assert.equal(status, 401, `${name}, ${how}`)
      assert.equal(await stored(world), before, `${name}, ${how}`)
    }
  })

  test('a credential that ends after the body was read, before anything is written, is 401 too', async (t) => {
    const { make, moments } = await startWorld(t, engine)
    let turn = 0
    for (const { name, caseName, kind, method, prepare, carrier } of calls) {
      const ways = Object.entries(endings[kind])
      const [how, end] = ways[++turn % ways.length] ?? assert.fail()
      const world = await make()
      const { path, body = {} } = await prepare(world)
      const headers = await credentialOf(world, kind, carrier)
      let before = ''
      moments.beforeHandler = async () => {
        await end(world)
        before = await stored(world)
      }
      const reply = await world.call(method, path, { headers, body })
      if (!actsOnNothing.has(caseName)) assert.equal(reply.status, 401, `${name}, ${how}: ${reply.text}`)
      if (!recordsRefusal.has(caseName)) assert.equal(await stored(world), before, `${name}, ${how}`)
    }
  })
})
