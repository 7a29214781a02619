/** 50 agents have 1,000 calls waiting for 20 people: none of their bodies is in memory, and people can decide on them. */
import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'node:test'
import { insertConnection, startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'

const [people, agents] = [20, 50]
const body = Buffer.alloc(15_000, 0xff).toString('base64')

function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

onBothDatabases('1,000 held calls', (engine) => {
  test('take no memory, are listed in pages, and 20 are settled by one decision', async (t) => {
    const settings = { SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000', SALLYPORT_ROWS_READ_PER_SECOND: '100000' }
    const { service, upstream, providerId } = await startCalling(t, engine, { settings })
    const { call } = service
    const users = await Promise.all(
      Array.from({ length: people }, async (_, n) => {
        const user = await service.logIn({ email: `person-${n}@example.com` })
        return { ...user, connectionId: await insertConnection(service, user.userId, providerId) }
      }),
    )
    const held: (() => Promise<unknown>)[] = []
    for (let n = 0; n < agents; n++) {
      const { agentId, token } = await service.registerAgent(`agent ${n}`)
      for (const { userId, connectionId } of users) {
        const terms = { mode: 'ask_writes' as const, allowedHosts: [upstream.host] }
        const { grantId } = await insertGrant(service, { agentId, userId, connectionId, ...terms })
        const asking = { grant_id: grantId, method: 'POST', url: upstream.url, body_base64: body }
        held.push(async () => {
          assert.equal((await call('POST', '/v4/proxy', { token, body: asking })).status, 202)
        })
      }
    }
    const holdAll = async (some: typeof held) => {
      for (let at = 0; at < some.length; at += 10) await Promise.all(some.slice(at, at + 10).map((hold) => hold()))
    }
    // Compiled code, connections and caches come with the first ones.
    const [first, rest] = [held.slice(0, 100), held.slice(100)]
    await holdAll(first)
    const before = usedBytes()
    await holdAll(rest)
    const grown = usedBytes() - before
    assert.ok(grown < (rest.length * body.length) / 2, `${grown} bytes`)

    const [{ token } = { token: '' }] = users
    const page = await call('GET', '/v4/calls?status=waiting&limit=20', { token })
    assert.equal(page.body.calls.length, 20)
    const ids: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const next = await call('GET', `/v4/calls?status=waiting&limit=20${cursor && `&cursor=${cursor}`}`, { token })
      ids.push(...next.body.calls.map((one: { call_id: string }) => one.call_id))
      cursor = next.body.next_cursor as string | null
    }
    assert.equal(new Set(ids).size, agents)
    const decisions = page.body.calls.map(({ call_id, digest }: any) => ({ call_id, digest, verdict: 'approve' }))
    const decided = await call('POST', '/v4/calls/decide', { token, body: { decisions } })
    assert.deepEqual(new Set(decided.body.results.map(({ status }: any) => status)), new Set(['approved']))
    await service.app.heldCallsMade()
    assert.equal(upstream.received.length, 20)
    assert.equal((await call('GET', '/v4/calls?status=waiting&limit=200', { token })).body.calls.length, agents - 20)
  })
})
