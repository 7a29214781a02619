import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import { signIn } from './person.ts'
import { runServer, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'

/** An attacker who can write to the database. */
async function steal({ env, dataDir }: RunningService, statement: string): Promise<void> {
  const url = env['DATABASE_URL']
  if (url === undefined) {
    const database = new DatabaseSync(join(dataDir, 'sallyport.db'))
    database.exec(statement)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement)
  await client.end()
}

describe('audit verify', { concurrency: 2 }, () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`finds the log intact while running and after a kill, until a row is changed (${engine})`, async (t) => {
      const service = await startService(t, engine)
      const { agentId, token } = await service.register()
      const { example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
      for (let calls = 0; calls < 5; calls++) {
        assert.equal((await service.call('POST', '/v4/proxy', { token, body: example.body })).status, 200)
      }
      const beside = await runServer(t, ['audit', 'verify'], service.env)
      assert.equal(beside.code, 0, beside.stdout + beside.stderr)
      assert.match(beside.stdout, /^✓ \d+ records in 2 chains: nothing was changed, removed or reordered$/m)
      const head = /^ {2}(sallyport-audit-head\.v1\.\S+)$/m.exec(beside.stdout)?.[1] ?? ''
      const again = await runServer(t, ['audit', 'verify', '--head', head], service.env)
      assert.equal(again.code, 0, again.stdout)

      const { records } = (await service.call('GET', `/v4/audit?agent_id=${agentId}&event=proxy.attempt`, { token }))
        .body
      assert.equal(records.length, 5)
      const auditId = String(records[2].audit_id)
      await service.kill()
      assert.equal((await runServer(t, ['audit', 'verify'], service.env)).code, 0, 'a kill leaves it whole')

      await service.startAgain()
      await signIn(service)
      await service.stop()
      const kept = /sallyport-audit-head\.v1\.[\w.-]+/g
      const last = service.log.match(kept)?.at(-1) ?? assert.fail('the stop signs the head and logs it')
      assert.equal((await runServer(t, ['audit', 'verify', '--head', last], service.env)).code, 0)
      // Set back to what it was before.
      for (const table of ['audit_records', 'audit_heads']) {
        await steal(service, `delete from ${table} where chain = (select max(chain) from ${table} where chain < 'chs')`)
      }
      assert.equal((await runServer(t, ['audit', 'verify'], service.env)).code, 0, 'nothing in the database shows it')
      const setBack = await runServer(t, ['audit', 'verify', '--head', last], service.env)
      assert.equal(setBack.code, 1)
      assert.match(setBack.stdout, /records after this position were removed: the given head/)

      await steal(
        service,
        `update audit_records set detail = '{}' where audit_id = '${auditId}' and event = 'proxy.attempt'`,
      )
      const changed = await runServer(t, ['audit', 'verify'], service.env)
      assert.equal(changed.code, 1)
      assert.match(changed.stdout, new RegExp(`^✗ chain chs_\\w+, position \\d+, ${auditId}: it was changed`, 'm'))
      assert.doesNotMatch(changed.stdout, /✓/)
    })
  }

  test('accepts only heads as arguments', async (t) => {
    const service = await startService(t, 'sqlite')
    for (const words of [['--head'], ['--heads', 'x'], ['--head', 'x'], ['now']]) {
      const { code, stderr } = await runServer(t, ['audit', 'verify', ...words], service.env)
      assert.equal(code, 2, words.join())
      assert.match(stderr, /--head must be one line/)
    }
  })
})
