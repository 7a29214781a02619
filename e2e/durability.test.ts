/** After a kill at any moment, everything that the service confirmed is stored. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { roomy, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'

const clients = 16

/** Every client works until the service is killed, which is after `enough` responses in total. */
async function killAmid(service: RunningService, enough: number, turn: (client: number) => Promise<void>) {
  let answered = 0
  let killed: Promise<unknown> | undefined
  const isStill = () => killed === undefined
  const work = async (client: number) => {
    while (isStill()) {
      try {
        await turn(client)
      } catch (error) {
        // Before the kill nothing may fail; after it the connection is gone.
        if (isStill()) throw error
        return
      }
      answered++
      if (answered >= enough) killed ??= service.kill()
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => work(client)))
  assert.deepEqual(await killed, { code: null, signal: 'SIGKILL' })
}

async function inTurns<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items]
  const worker = async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: clients }, worker))
}

onBothDatabases('a kill in the middle of registrations', (engine) => {
  test('every agent that got its token exists after the restart', async (t) => {
    const service = await startService(t, engine, roomy)
    const issued: { token: string; agentId: string }[] = []
    for (const enough of [137, 411, 452]) {
      await killAmid(service, enough, async (client) => {
        issued.push(await service.register(`client ${client}`))
      })
      await service.startAgain()
      await inTurns(issued, async ({ token, agentId }) => {
        const { status, body } = await service.call('GET', '/v4/agents/me', { token })
        assert.deepEqual([status, body.agent_id], [200, agentId])
      })
    }
    assert.ok(issued.length >= 1000, `${issued.length} registrations were answered`)
  })
})

interface AuditRow {
  audit_id: string
  event: string
  agent_id: string | null
}

function readAudit({ dataDir }: RunningService): AuditRow[] {
  const database = new DatabaseSync(join(dataDir, 'sallyport.db'), { readOnly: true })
  try {
    return database.prepare('select audit_id, event, agent_id from audit_records').all() as unknown as AuditRow[]
  } finally {
    database.close()
  }
}

test('a kill during proxy calls loses no completed call, and at most the last outcomes', async (t) => {
  const service = await startService(t, 'sqlite', roomy)
  const agents = await Promise.all(
    Array.from({ length: clients }, async () => {
      const { token } = await service.register()
      const { example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
      return { token, body: { ...example.body, method: 'POST', body: { text: 'x'.repeat(500) } } }
    }),
  )
  const answered: string[] = []
  /** The last call of each client before a kill: its outcome would have been written with the next commit. */
  const last = new Set<string>()
  for (const enough of [90, 240, 170]) {
    const latest = new Map<number, string>()
    await killAmid(service, enough, async (client) => {
      const agent = agents[client]
      const { status, body, text } = await service.call('POST', '/v4/proxy', agent)
      assert.equal(status, 200, text)
      answered.push(body.audit_id)
      latest.set(client, body.audit_id)
    })
    await service.startAgain()
    const rows = readAudit(service)
    const of = (event: string) => new Set(rows.filter((row) => row.event === event).map((row) => row.audit_id))
    const attempts = of('proxy.attempt')
    const outcomes = of('proxy.outcome')
    assert.deepEqual(
      answered.filter((id) => !attempts.has(id)),
      [],
    )
    for (const id of latest.values()) last.add(id)
    assert.deepEqual(
      answered.filter((id) => !outcomes.has(id) && !last.has(id)),
      [],
    )
    assert.deepEqual(
      [...outcomes].filter((id) => !attempts.has(id)),
      [],
      'no outcome without its attempt',
    )
  }
  assert.ok(new Set(answered).size >= 500, 'each call has a record of its own')
})
