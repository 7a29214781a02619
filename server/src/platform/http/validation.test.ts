import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../../testkit/service.ts'

const grant = { grant_id: 'grt_x', method: 'GET', url: 'https://api.example.com/' }

/** An object of that many members, none of which is like another. */
function members(count: number, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]))
}

test('a body of very many members is refused without a look at each of them', async (t) => {
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

test('an object with more members than its schema knows is told the first that it does not', async (t) => {
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
    assert.equal(answer.error.message, `"${field}" is not a member that this call knows.`)
  }
})
