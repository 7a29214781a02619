import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { eventually, runServer, spawnServer, startService } from './running-service.ts'

interface Line {
  cursor: string
  audit_id: string
  event: string
  chain: string
  position: number
  hash: string
  detail: object
}

describe('audit follow', { concurrency: 2 }, () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`prints each record with its hash, and goes on after a cursor (${engine})`, async (t) => {
      const service = await startService(t, engine)
      const follow = (...args: string[]) => {
        const { child, exit, stdout, stderr } = spawnServer(t, ['audit', 'follow', ...args], service.env)
        const lines = () =>
          stdout()
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line) as Line)
        const until = (isSo: (all: Line[]) => boolean) => eventually(() => isSo(lines()), `${stdout()}${stderr()}`)
        const end = async () => {
          child.kill('SIGTERM')
          assert.deepEqual(await exit, { code: 0, signal: null })
          return lines()
        }
        return { until, end }
      }
      const register = async (name: string) => (await service.register(name)).agentId
      await register('first')
      const first = follow()
      const isRegistered = ({ event }: Line) => event === 'agent.registered'
      await first.until((all) => all.some(isRegistered))
      await register('while it runs')
      await first.until((all) => all.filter(isRegistered).length === 2)
      const seen = await first.end()
      assert.ok(
        seen.every(({ hash, chain, position }) => /^[\w-]{43}$/.test(hash) && /^ch[ns]_/.test(chain) && position > 0),
      )
      assert.ok(!JSON.stringify(seen).includes('sp_agent_'), 'no credential is in it')

      await register('later')
      const { cursor = '' } = seen.at(-1) ?? {}
      const second = follow('--after', cursor)
      await second.until((all) => all.some(isRegistered))
      const more = await second.end()
      const ids = [...seen, ...more].filter(isRegistered).map(({ audit_id: id }) => id)
      assert.equal(new Set(ids).size, 3)
      if (engine === 'sqlite') assert.equal(ids.length, 3, 'none comes twice')

      await service.stop()
      if (engine === 'postgres') return
      // As after a restore: the number belongs to another record.
      const database = new DatabaseSync(join(service.dataDir, 'sallyport.db'))
      database.exec(
        `update audit_records set hash = zeroblob(32) where sequence = (select max(sequence) from audit_records)`,
      )
      const last = more.at(-1)?.cursor ?? ''
      const other = await runServer(t, ['audit', 'follow', '--after', last], service.env)
      assert.match(other.stderr, /is another one now: the database was restored or set back/)
      database.exec('delete from audit_records where sequence = (select max(sequence) from audit_records)')
      database.close()
      const gone = await runServer(t, ['audit', 'follow', '--after', last], service.env)
      assert.match(gone.stderr, /is gone: retention removed it/)
      for (const words of [['--after'], ['--after', '7'], ['now'], ['--after', last, 'x']]) {
        assert.equal((await runServer(t, ['audit', 'follow', ...words], service.env)).code, 2, words.join())
      }
    })
  }

  test('ends when its reader has gone', async (t) => {
    const service = await startService(t, 'sqlite')
    await service.register()
    const { child, exit, stdout } = spawnServer(t, ['audit', 'follow'], service.env)
    await eventually(() => stdout() !== '', 'nothing is printed')
    child.stdout?.destroy()
    await service.register()
    assert.deepEqual(await exit, { code: 0, signal: null })
  })
})
