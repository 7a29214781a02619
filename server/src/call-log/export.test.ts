/** An export of a long audit log does not block anything else, and the number of concurrent exports is limited. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { seedRecords } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { countTurns } from '../../testkit/turns.ts'

/** Real connections: a reader that stops reading pauses its export. */
async function listen({ app, config }: TestService) {
  await app.http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.http.server.address() as AddressInfo
  const open: IncomingMessage[] = []
  const close = () => {
    for (const response of open) response.destroy()
  }
  const exportFor = async (token: string, format = 'ndjson') => {
    const headers = { authorization: `Bearer ${token}`, host: config.baseUrl.host }
    const request = get({ port, path: `/v4/audit?format=${format}`, headers, agent: false })
    request.on('error', () => undefined)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    open.push(response)
    return response
  }
  return { exportFor, close }
}

async function lengthOf(response: IncomingMessage): Promise<number> {
  let length = 0
  for await (const chunk of response) length += (chunk as Buffer).length
  return length
}

onBothDatabases('an export', (engine) => {
  test('yields to the event loop between pages, in both formats', async (t) => {
    const service = await startService(t, engine)
    await seedRecords(service.database, 10_000)
    for (const format of ['ndjson', 'csv']) {
      const turns = countTurns()
      const { text } = await service.call('GET', `/v4/audit?format=${format}`, { token: service.adminToken })
      const lines = text.split('\n').length
      assert.ok(lines > 10_000, `${lines} lines`)
      assert.ok(turns.end() >= 45, `${format}: the event loop turned too rarely`)
    }
  })

  test('runs at most twice per caller and four times for all agents, leaving slots for users', async (t) => {
    const service = await startService(t, engine)
    const { exportFor, close } = await listen(service)
    const agents = [await service.registerAgent(), await service.registerAgent(), await service.registerAgent()]
    // More than fits into the buffers of a connection that nobody reads.
    for (const { agentId } of agents) await seedRecords(service.database, 4_000, { agentId, bytes: 4_000 })
    const [first, second, third] = agents.map(({ token }) => token) as [string, string, string]
    const begin = async (token: string) => {
      const response = await exportFor(token)
      return { response, status: response.statusCode }
    }
    const held = [await begin(first), await begin(first)]
    assert.deepEqual(
      held.map(({ status }) => status),
      [200, 200],
    )
    const refused = await exportFor(first)
    assert.equal(refused.statusCode, 429)
    assert.equal(refused.headers['retry-after'], '5')
    held.push(await begin(second), await begin(second))
    assert.equal((await begin(third)).status, 429, 'agents have four places')
    const { adminToken } = service
    const admins = [await begin(adminToken), await begin(adminToken), await begin(adminToken)]
    assert.deepEqual(
      admins.map(({ status }) => status),
      [200, 200, 429],
    )

    // One is read to its end, of one its reader goes away.
    const [read, dropped] = held
    assert.ok(read && dropped)
    assert.ok((await lengthOf(read.response)) > 1_000_000)
    dropped.response.destroy()
    let begun = 0
    for (let attempt = 0; attempt < 500 && begun < 2; attempt++) if ((await begin(first)).status === 200) begun++
    assert.equal(begun, 2, 'both places are free again')
    assert.equal((await begin(first)).status, 429)
    close()
    service.app.http.server.closeAllConnections()
  })
})
