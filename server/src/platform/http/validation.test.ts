import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { pairDevice } from '../../../testkit/device.ts'
import { startService } from '../../../testkit/service.ts'

const grant = { grant_id: 'grt_x', method: 'GET', url: 'https://api.example.com/' }

/** An object with that many different members. */
function members(count: number, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]))
}

test('a body with very many members is refused without validating each', async (t) => {
  const { call, registerAgent } = await startService(t, 'sqlite')
  const { token } = await registerAgent()
  const refusals: [object, string][] = [
    [{ ...grant, ...members(300_000, 1) }, 'k0'],
    [{ ...grant, headers: members(300_000, 1) }, 'headers'],
    [{ ...grant, headers: members(300_000, '') }, 'headers'],
  ]
  for (const [body, field] of refusals) {
    const text = JSON.stringify(body)
    const parsed = process.cpuUsage()
    JSON.parse(text)
    const { user: parsing } = process.cpuUsage(parsed)
    const began = process.cpuUsage()
    const { status, body: answer } = await call('POST', '/v4/proxy', { token, body: text })
    const { user } = process.cpuUsage(began)
    assert.equal(status, 400)
    assert.equal(answer.error.code, 'invalid_field')
    assert.equal(answer.error.field, field)
    assert.ok(user < 4 * parsing + 500_000, `${user} µs, where parsing takes ${parsing} µs`)
  }
})

test('the error for unknown members names the first one', async (t) => {
  const { call } = await startService(t, 'sqlite')
  for (const [member, field] of [
    ['nmae', 'nmae'],
    ['a/b~c', 'a/b~c'],
    ['constructor', 'constructor'],
  ] as const) {
    const body = { name: 'an agent', owner_user_id: 'me', metadata: {}, [member]: 1 }
    const { status, body: answer } = await call('POST', '/v4/agents/register', { body })
    assert.equal(status, 400)
    assert.equal(answer.error.code, 'invalid_field')
    assert.equal(answer.error.field, field)
    assert.equal(answer.error.message, `"${field}" is not a known member of this request.`)
  }
})

onBothDatabases('null in a body', (engine) => {
  test('null for an optional member counts as absent in every endpoint', async (t) => {
    const service = await startService(t, engine)
    const user = await service.logIn({ email: 'ada@example.com' })
    const tokens: Record<string, string> = {
      agent: (await service.registerAgent()).token,
      user: user.token,
      device: (await pairDevice(service, user)).token,
      admin: service.adminToken,
    }
    interface Schema {
      $ref?: string
      required?: string[]
      properties?: Record<string, Schema>
    }
    interface Operation {
      security: Record<string, unknown>[]
      requestBody?: { content: Record<string, { schema: Schema }> }
    }
    const { paths, components } = service.app.http.swagger() as unknown as {
      paths: Record<string, Record<string, Operation>>
      components: { schemas: Record<string, Schema> }
    }
    const named = (schema: Schema) => components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
    let looked = 0
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { security, requestBody }] of Object.entries(operations)) {
        const { properties = {}, required = [] } = named(requestBody?.content['application/json']?.schema ?? {})
        const token = tokens[Object.keys(security[0] ?? {})[0] ?? '']
        for (const name of Object.keys(properties)) {
          if (!path.startsWith('/v4') || required.includes(name)) continue
          const call = { ...(token !== undefined && { token }), body: { [name]: null } }
          const { body } = await service.call(method.toUpperCase(), path.replace('{id}', 'x'), call)
          const { code, field } = (body?.error ?? {}) as { code?: string; field?: string }
          assert.notDeepEqual([code, field], ['invalid_field', name], `${method} ${path}`)
          looked++
        }
      }
    }
    assert.ok(looked > 40, `${looked} members`)
  })

  test('null stays a value where allowed, and does not satisfy a required member', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    const started = await service.call('POST', '/v4/sandbox/start', { token })
    const body = { ...started.body.example.body, method: 'POST', body: null, headers: null, stream: null }
    const called = await service.call('POST', '/v4/proxy', { token, body })
    assert.equal(called.status, 200, called.text)
    assert.equal(called.body.body.headers['content-type'], 'application/json', 'a body that is the JSON null')
    const refused = [
      [{ name: null }, 'name'],
      [{ name: 'an agent', nmae: null }, 'nmae'],
    ] as const
    for (const [members, field] of refused) {
      const reply = await service.call('POST', '/v4/agents/register', { body: members })
      assert.deepEqual([reply.status, reply.body.error.code, reply.body.error.field], [400, 'invalid_field', field])
    }
  })
})
