/** After a kill at any moment, every call that reached the upstream is recorded, and the audit log verifies. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { startRawHttp, whole } from '../server/testkit/raw-http.ts'
import type { RawUpstream } from '../server/testkit/raw-http.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { runServer } from './running-service.ts'

const clients = 32
/** `npm run endurance -- --cuts` kills it more often. */
const kills = process.env['TEST_LONG_FORM'] === '1' ? 20 : 6

/**
 * Every client calls, with a unique path each time, until the service is killed: by the upstream, at the
 * moment when it has received a given number of requests. A record that was written too late would be missing.
 */
async function killAmid(
  { calling: { service }, whenSeen }: Recorded,
  enough: number,
  turn: (client: number) => unknown,
) {
  let isKilled = false
  whenSeen(enough, () => {
    service.signal('SIGKILL')
    isKilled = true
  })
  const isStill = () => !isKilled
  const work = async (client: number) => {
    while (isStill()) {
      try {
        await turn(client)
      } catch (error) {
        // Before the kill nothing may fail; after it the connection is gone.
        if (isStill()) throw error
        return
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => work(client)))
  assert.deepEqual(await service.exited(), { code: null, signal: 'SIGKILL' })
}

interface Row {
  audit_id: string
  event: string
  detail: string
}

/** The paths of all recorded calls, and the calls with an outcome. */
function readRecords(dataDir: string) {
  const database = new DatabaseSync(join(dataDir, 'sallyport.db'), { readOnly: true })
  try {
    const rows = database
      .prepare("select audit_id, event, detail from audit_records where event in ('proxy.attempt', 'proxy.outcome')")
      .all() as unknown as Row[]
    const attempts = rows.filter(({ event }) => event === 'proxy.attempt')
    const pathOf = ({ detail }: Row) => (JSON.parse(detail) as { path: string }).path
    return {
      attempts: new Map(attempts.map((row) => [pathOf(row), row.audit_id])),
      outcomes: new Set(rows.filter(({ event }) => event === 'proxy.outcome').map(({ audit_id }) => audit_id)),
    }
  } finally {
    database.close()
  }
}

interface Recorded {
  upstream: RawUpstream
  calling: Calling
  /** Runs this after so many more requests, before the response to the last one. */
  whenSeen: (more: number, act: () => void) => void
}

async function startRecorded(t: TestContext): Promise<Recorded> {
  let left = Infinity
  let act = () => undefined as unknown
  const upstream = await startRawHttp(t, (_request, socket) => {
    if (--left === 0) act()
    socket.write(whole('200 OK', ['content-type: application/json'], '{"ok":true}'))
  })
  const whenSeen: Recorded['whenSeen'] = (more, then) => {
    left = more
    act = then
  }
  return { upstream, calling: await startCalling(t, 'sqlite', { hosts: [upstream.host] }), whenSeen }
}

/** So many starts take long on a busy machine. */
const longer = { timeout: 300_000 }

test(
  '32 clients, a kill at different moments: every request that the upstream got is recorded, and the log verifies',
  longer,
  async (t) => {
    const recorded = await startRecorded(t)
    const { upstream, calling } = recorded
    const { service } = calling
    const agents = await Promise.all(Array.from({ length: clients }, calling.admit))
    const answered = new Map<string, string>()
    let serial = 0
    for (let kill = 1; kill <= kills; kill++) {
      // At a different moment each time: during the first calls, or later.
      await killAmid(recorded, 20 + ((kill * 37) % 160), async (client) => {
        const agent = agents[client] ?? agents[0]
        const path = `/calls/${++serial}`
        const url = `https://${upstream.host}${path}`
        const { status, body, text } = await service.call('POST', '/v4/proxy', {
          token: agent?.token,
          body: { grant_id: agent?.grantId, method: 'GET', url },
        })
        assert.equal(status, 200, text)
        answered.set(path, body.audit_id)
      })
      await service.startAgain()
      const { attempts } = readRecords(service.dataDir)
      const seen = upstream.requests.map(({ target }) => target)
      assert.deepEqual(
        seen.filter((path) => !attempts.has(path)),
        [],
        `unrecorded after kill ${kill}`,
      )
      assert.deepEqual(
        [...answered].filter(([path, auditId]) => attempts.get(path) !== auditId),
        [],
        `answered under another record after kill ${kill}`,
      )
      const verified = await runServer(t, ['audit', 'verify'], service.env)
      assert.equal(verified.code, 0, verified.stdout + verified.stderr)
    }
    const { attempts, outcomes } = readRecords(service.dataDir)
    assert.equal(
      new Set(upstream.requests.map(({ target }) => target)).size,
      upstream.requests.length,
      'sent once each',
    )
    assert.ok(answered.size >= kills * 50, `${answered.size} calls were answered`)
    // Calls completed long before a kill have their outcome; those cut off by it never get one.
    const without = [...attempts.values()].filter((auditId) => !outcomes.has(auditId))
    assert.ok(without.length <= kills * clients, `${without.length} of ${attempts.size} calls are without an outcome`)
  },
)

test('a changed, removed or swapped record is found and named', async (t) => {
  const { upstream, calling } = await startRecorded(t)
  const { service } = calling
  for (let call = 1; call <= 10; call++) {
    assert.equal((await calling.proxy(`https://${upstream.host}/calls/${call}`)).status, 200)
  }
  await service.stop()
  const verify = () => runServer(t, ['audit', 'verify'], service.env)
  assert.equal((await verify()).code, 0)

  const database = new DatabaseSync(join(service.dataDir, 'sallyport.db'))
  t.after(() => {
    database.close()
  })
  const { attempts } = readRecords(service.dataDir)
  const victim = attempts.get('/calls/5') ?? ''
  const other = attempts.get('/calls/7') ?? ''
  assert.match(victim, /^aud_/)
  const isAttempt = (id: string) => `audit_id = '${id}' and event = 'proxy.attempt'`
  const placeOf = (id: string) => `(select position from kept where ${isAttempt(id)})`
  const tampering = {
    changed: `update audit_records set detail = replace(detail, '/calls/5', '/calls/6') where ${isAttempt(victim)}`,
    'dated back': `update audit_records set at = at - 1000 where ${isAttempt(victim)}`,
    removed: `delete from audit_records where ${isAttempt(victim)}`,
    swapped: `
      update audit_records set position = -1 where ${isAttempt(victim)};
      update audit_records set position = ${placeOf(victim)} where ${isAttempt(other)};
      update audit_records set position = ${placeOf(other)} where ${isAttempt(victim)}`,
  }
  for (const [what, statement] of Object.entries(tampering)) {
    database.exec('create table kept as select * from audit_records')
    database.exec(statement)
    const { code, stdout, stderr } = await verify()
    assert.equal(code, 1, `${what}: ${stdout}`)
    // For a removed record only its position is known, and of two swapped ones the first is reported.
    const named = what === 'removed' ? /position \d+/i : new RegExp(`${victim}|${other}`)
    assert.match(stdout + stderr, named, what)
    database.exec('delete from audit_records; insert into audit_records select * from kept; drop table kept')
    assert.equal((await verify()).code, 0, `after ${what} was put right`)
  }
})
