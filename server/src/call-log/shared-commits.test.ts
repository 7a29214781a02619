import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { startService } from '../../testkit/service.ts'

const callers = 8
const rounds = 10

onBothDatabases('concurrent calls', (engine) => {
  test('are recorded in one commit', async (t) => {
    const service = await startService(t, engine)
    await service.app.http.listen({ host: '127.0.0.1', port: 0 })
    const { port } = service.app.http.server.address() as AddressInfo
    const connections = new Agent({ keepAlive: true })
    t.after(() => {
      connections.destroy()
    })
    const agents = await Promise.all(Array.from({ length: callers }, () => agentInSandbox(service)))
    for (let round = 0; round < rounds; round++) {
      const statuses = await Promise.all(
        agents.map(({ token, grantId, echoUrl }) => {
          const body = JSON.stringify({ grant_id: grantId, method: 'GET', url: echoUrl })
          return new Promise((resolve, reject) => {
            const headers = {
              authorization: `Bearer ${token}`,
              'content-type': 'application/json',
              host: 'localhost:8787',
            }
            request({ port, path: '/v4/proxy', method: 'POST', agent: connections, headers }, (response) => {
              response.resume().on('end', () => {
                resolve(response.statusCode)
              })
            })
              .on('error', reject)
              .end(body)
          })
        }),
      )
      assert.deepEqual(new Set(statuses), new Set([200]))
    }
    const { queries } = service.database
    const records = await queries
      .selectFrom('audit_records')
      .select(['event', 'mac'])
      .where('event', 'like', 'proxy.%')
      .execute()
    // The last record of each commit carries a code.
    const commits = records.filter(({ mac }) => mac !== null).length
    const attempts = records.filter(({ event }) => event === 'proxy.attempt').length
    assert.equal(attempts, callers * rounds)
    // Twice as many without sharing. On a busy machine the calls of a round arrive at different times.
    assert.ok(commits < attempts, `${records.length} records in ${commits} commits`)
  })
})
