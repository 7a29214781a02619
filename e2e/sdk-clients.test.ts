/** The whole flow with the SDK's clients: an agent requests, a user decides, a device signs, an admin manages. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  AccessDenied,
  createAdminClient,
  createAgentClient,
  createDeviceClient,
  createUserClient,
  generateDeviceKey,
  pairDevice,
  registerAgent,
  SallyportError,
  thumbprintOf,
  verifyReceipt,
} from '@sallyport/sdk'
import type { AgentClient, UserClient } from '@sallyport/sdk'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { slug } from './person.ts'
import { routesFor, routesOf } from './sdk-routes.ts'
import type { Described } from './sdk-routes.ts'

type Fetch = typeof globalThis.fetch

describe('the clients of the SDK', () => {
  let calling: Calling
  let baseUrl: string
  let agent: AgentClient
  let user: UserClient
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    calling = await startCalling(scope, 'sqlite', { hosts: ['api.acme.example:8443'] })
    baseUrl = `http://localhost:${calling.service.port}`
    agent = createAgentClient({ baseUrl, token: calling.agent.token })
    user = createUserClient({ baseUrl, token: calling.personToken })
  })
  after(async () => {
    for (const ending of endings) await ending()
  })
  const admin = () => createAdminClient({ baseUrl, adminToken: calling.service.adminToken })
  const failure = async (work: Promise<unknown>): Promise<SallyportError> => {
    const error: unknown = await work.then(
      () => assert.fail('it succeeded'),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof SallyportError, String(error))
    return error
  }

  test('an agent registers, tries the sandbox, and rotates its token', async () => {
    const { access_token: token } = await registerAgent({ baseUrl, name: 'Tourist', metadata: { of: 'a test' } })
    const tourist = createAgentClient({ baseUrl, token })
    const { grant_id, echo_url } = await tourist.sandbox()
    const call = { grant_id, method: 'GET', url: echo_url }
    assert.equal((await tourist.dryRun(call)).allowed, true)
    const { body, redactions } = await tourist.proxy(call)
    assert.equal((body as { headers: Record<string, string> }).headers['authorization'], 'Bearer [REDACTED]')
    assert.equal(redactions, 1)
    const { agent: same } = await tourist.rotateToken()
    assert.deepEqual(await tourist.me(), same)
    assert.equal((await failure(createAgentClient({ baseUrl, token }).me())).code, 'unauthenticated')
  })

  test('a request is approved while the agent waits, and the grant is used, listed and revoked', async () => {
    const asked = await agent.requestAccess({ provider: slug, reason: 'to look around' })
    const looks: string[] = []
    const waiting = agent.waitForGrant(asked.access_request_id, {
      onPending: ({ status }) => {
        looks.push(status)
        void user.accessRequests.approve(asked.access_request_id, { connection_id: calling.connectionId, max_calls: 5 })
      },
    })
    const { grant_id } = await waiting
    assert.deepEqual(looks, ['pending'])
    const listed = await agent.grants({ status: 'active' }).all()
    assert.ok(listed.some((grant) => grant.grant_id === grant_id && grant.max_calls === 5))
    assert.equal((await verifyReceipt(await agent.receipt(grant_id))).verdict, 'unsigned')
    assert.equal((await user.grants.revoke(grant_id)).status, 'revoked')
    const refused = await failure(agent.proxy({ grant_id, method: 'GET', url: 'https://api.acme.example:8443/' }))
    assert.deepEqual([refused.code, refused.status, refused.retryable], ['grant_revoked', 403, false])
    assert.match(refused.requestId ?? '', /^req_/)
    assert.deepEqual(refused.accessRequest, { provider: slug, hosts: ['api.acme.example:8443'], methods: ['GET'] })
  })

  test("a denial is thrown with the user's reason", async () => {
    const { access_request_id: id } = await agent.requestAccess({ provider: slug })
    await user.accessRequests.deny(id, { reason: 'not today' })
    const error = await failure(agent.waitForGrant(id))
    assert.ok(error instanceof AccessDenied)
    assert.deepEqual([error.code, error.request.denial_reason], ['access_denied', 'not today'])
    const taken = await agent.requestAccess({ provider: slug })
    await agent.cancelRequest(taken.access_request_id)
    assert.equal((await failure(agent.waitForGrant(taken.access_request_id))).code, 'access_cancelled')
  })

  test('waiting ends with its timeout or signal', async () => {
    const { access_request_id: id } = await agent.requestAccess({ provider: slug })
    const late = await failure(agent.waitForGrant(id, { timeoutMs: 1 }))
    assert.deepEqual([late.code, late.retryable], ['timeout', true])
    const controller = new AbortController()
    const onPending = () => {
      controller.abort(new Error('no more'))
    }
    await assert.rejects(agent.waitForGrant(id, { signal: controller.signal, onPending }), /no more/)
  })

  test('a device is paired, signs an approval that verifies offline, and enrols another', async () => {
    const key = await generateDeviceKey()
    const { pairing_code: pairingCode } = await user.devices.createPairingCode()
    const paired = await pairDevice({ baseUrl, pairingCode, key, deviceName: 'Desk' })
    assert.equal(paired.device.key?.thumbprint, await thumbprintOf(key))
    const device = createDeviceClient({ baseUrl, sessionToken: paired.session_token, key })
    await user.auth.changeMe({ require_device_approval: true })

    const me = await user.auth.me()
    const asked = await agent.requestAccess({ provider: slug, user_id: me.user.user_id })
    const unsigned = user.accessRequests.approve(asked.access_request_id, { connection_id: calling.connectionId })
    assert.equal((await failure(unsigned)).code, 'device_signature_required')
    const [pending] = await device.accessRequests.pending().all()
    assert.equal(pending?.access_request_id, asked.access_request_id)
    const [connection] = (await device.connections.list().page()).connections
    const decision = { connection_id: connection?.connection_id ?? '', max_calls: 3 }
    const grant = await device.accessRequests.approve(asked.access_request_id, decision)
    assert.equal(grant.signed, true)
    const receipt = await agent.receipt(grant.grant_id)
    assert.deepEqual(await verifyReceipt(receipt), { verdict: 'signed', covers: ['connection_id', 'max_calls'] })

    assert.equal((await user.grants.change(grant.grant_id, { max_calls: 2 })).max_calls, 2)
    assert.equal(
      (await failure(user.grants.change(grant.grant_id, { max_calls: 9 }))).code,
      'device_signature_required',
    )
    const extended = await device.grants.change(grant, { max_calls: 9 })
    assert.deepEqual([extended.max_calls, extended.signed], [9, true])
    assert.deepEqual(await verifyReceipt(await agent.receipt(grant.grant_id)), {
      verdict: 'signed',
      covers: ['max_calls'],
    })
    const { calls, suggestion } = await user.grants.usage(grant.grant_id)
    assert.deepEqual([calls, suggestion], [0, null])

    const denied = await agent.requestAccess({ provider: slug, user_id: me.user.user_id })
    assert.equal((await device.accessRequests.deny(denied.access_request_id, { reason: 'no' })).status, 'denied')

    const otherKey = await generateDeviceKey()
    const other = await pairDevice({
      baseUrl,
      pairingCode: (await user.devices.createPairingCode()).pairing_code,
      key: otherKey,
    })
    assert.equal(other.device.key?.enrolled, false)
    const enrolled = await device.enrol(other.device.device_id, await thumbprintOf(otherKey))
    assert.equal(enrolled.key?.enrolled, true)
    const otherDevice = createDeviceClient({ baseUrl, sessionToken: other.session_token, key: otherKey })
    assert.equal((await device.remove(other.device.device_id)).status, 'revoked')
    assert.equal((await failure(otherDevice.me())).code, 'unauthenticated')
    const lifted = await user.auth.changeMe({ require_device_approval: false, ...(await device.sign('off')) })
    assert.equal(lifted.user.require_device_approval, false)
    assert.equal((await user.devices.revoke(paired.device.device_id)).status, 'revoked')
  })

  test('an admin lists users and agents, creates a login token, and reads the audit log', async () => {
    const { login_token, user_id } = await admin().createLoginToken({ email: 'grace@example.com', name: 'Grace' })
    const visitor = createUserClient({ baseUrl })
    assert.equal((await visitor.auth.preview(login_token)).user.user_id, user_id)
    const { session_token } = await visitor.auth.login(login_token)
    const grace = createUserClient({ baseUrl, token: session_token })
    assert.equal((await grace.sessions.list().all()).length, 1)
    assert.equal((await admin().users.disable(user_id)).status, 'disabled')
    assert.equal((await failure(grace.auth.me())).code, 'unauthenticated')
    const [provider] = await admin().providers.list().all()
    assert.equal(provider?.has_client_secret, true)
    assert.ok((await admin().providers.presets()).presets.length > 3)
    const { database, findings } = await admin().health()
    assert.ok(database.migration > 0 && findings.length > 0)
    const oneByOne = await admin().agents.list({ limit: 1 }).all()
    assert.deepEqual(
      oneByOne.map(({ agent_id }) => agent_id),
      (await admin().agents.list().page()).agents.map(({ agent_id }) => agent_id),
    )
    const text = await new Response(await admin().audit.export('ndjson')).text()
    const records = await admin().audit.list().all()
    assert.ok(records.length > 10)
    assert.ok(text.split('\n').length >= records.length)
    assert.equal((await user.audit.key()).alg, 'EdDSA')
  })

  test('changes are streamed to listeners', async () => {
    const leaving = new AbortController()
    const heard: string[] = []
    for await (const event of user.events({ signal: leaving.signal })) {
      heard.push(event.event)
      if (event.event === 'ready') await user.devices.createPairingCode()
      if (event.event === 'changed') leaving.abort()
    }
    assert.deepEqual(heard, ['ready', 'changed'])
  })

  test('every route for agents, users or admins is in their client', async () => {
    const reference = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Described
    const clients = {
      agent: (fetch: Fetch) => createAgentClient({ baseUrl, token: 'x', fetch }),
      user: (fetch: Fetch) => createUserClient({ baseUrl, token: 'x', fetch }),
      admin: (fetch: Fetch) => createAdminClient({ baseUrl, adminToken: 'x', fetch }),
    }
    // A redirect for browsers, not an API call.
    const inBrowsers = ['GET /v4/oauth/resume']
    for (const [actor, create] of Object.entries(clients)) {
      const asked = await routesOf(create)
      const missing = routesFor(actor, reference).filter((route) => !asked.has(route) && !inBrowsers.includes(route))
      assert.deepEqual(missing, [], actor)
      assert.ok(asked.size > 10, actor)
    }
  })

  test('unknown, malformed and empty input have different errors', async () => {
    assert.equal((await failure(user.grants.revoke('grt_none'))).code, 'not_found')
    const wrong = await failure(agent.requestAccess({ provider: '' }))
    assert.deepEqual([wrong.code, wrong.field], ['invalid_field', 'provider'])
    assert.throws(() => user.grants.revoke(''), TypeError)
    assert.throws(() => user.grants.revoke('..'), TypeError)
    assert.equal((await failure(user.grants.revoke('../../agents'))).code, 'not_found')
    assert.throws(() => createAgentClient({ baseUrl: 'localhost:1', token: 'x' }), TypeError)
  })
})
