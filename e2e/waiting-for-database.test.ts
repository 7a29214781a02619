/**
 * A service that can't reach its database yet waits for it. Errors that waiting can't fix stop the start immediately.
 */
import assert from 'node:assert/strict'
import { connect, createServer } from 'node:net'
import { describe, test } from 'node:test'
import pg from 'pg'
import { migratedPostgres } from '../server/testkit/databases.ts'
import { freePort } from '../server/testkit/ports.ts'
import { eventually, runServer, settingsFor, spawnServer, startService } from './running-service.ts'

async function changedUrl(t: Parameters<typeof migratedPostgres>[0], change: (url: URL) => void): Promise<string> {
  const url = new URL(await migratedPostgres(t))
  change(url)
  return url.href
}

async function newerDatabase(t: Parameters<typeof migratedPostgres>[0]): Promise<string> {
  const connectionString = await migratedPostgres(t)
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(`insert into migrations (number, name, applied_at) values (9999, 'newer', 0)`)
  await client.end()
  return connectionString
}

describe('a start without its database', { concurrency: 2 }, () => {
  test('waits for it, logs that, and continues once it is there, also with workers', async (t) => {
    for (const workers of ['1', '2']) {
      const port = await freePort()
      let server = { host: '', port: 0 }
      const DATABASE_URL = await changedUrl(t, (url) => {
        server = { host: url.hostname, port: Number(url.port) }
        url.hostname = '127.0.0.1'
        url.port = String(port)
      })
      const env = await settingsFor(t, 'postgres', { DATABASE_URL, SALLYPORT_WORKERS: workers })
      const service = spawnServer(t, [], env)
      await eventually(() => service.stderr().split('waiting for the database').length > 2, 'it does not wait')
      assert.match(service.stderr(), /ECONNREFUSED/)
      const relay = createServer((client) => {
        const target = connect(server)
        for (const socket of [client, target]) socket.on('error', () => undefined)
        client.pipe(target).pipe(client)
      })
      t.after(() => relay.close())
      relay.listen(port, '127.0.0.1')
      await eventually(() => service.stdout().includes('/v4/sandbox/echo'), 'it did not start')
      service.child.kill('SIGTERM')
      assert.deepEqual(await service.exit, { code: 0, signal: null })
      assert.match(service.stderr(), /"msg":"stopped"/)
    }
  })

  test('waits for a host name that does not resolve yet, until a stop signal', async (t) => {
    const DATABASE_URL = 'postgres://sallyport:hunter2-hunter2@database.invalid/sallyport'
    const service = spawnServer(t, [], await settingsFor(t, 'postgres', { DATABASE_URL }))
    await eventually(() => service.stderr().includes('waiting for the database'), 'it does not wait')
    service.child.kill('SIGTERM')
    assert.deepEqual(await service.exit, { code: 0, signal: null })
    assert.match(service.stderr(), /stopped before the database was ready/)
    assert.ok(!service.stderr().includes('hunter2'))
  })

  test('uses the next of several hosts, and says what is wrong with the first', async (t) => {
    const closed = `127.0.0.1:${await freePort()}`
    const url = await migratedPostgres(t)
    const { host } = new URL(url)
    const service = await startService(t, 'postgres', { DATABASE_URL: url.replace(host, `${closed},${host}`) })
    const chosen = /.*chose a PostgreSQL host.*/.exec(service.log)?.[0] ?? ''
    const { level, host: used, passed_over } = JSON.parse(chosen)
    assert.deepEqual([level, used], ['warn', host])
    assert.match(passed_over.join(), new RegExp(`^${closed}: connect ECONNREFUSED`))
    const { code, stdout } = await runServer(t, ['doctor'], service.env)
    assert.equal(code, 0, stdout)
    assert.match(stdout, new RegExp(`database host +warning: ${closed}: connect ECONNREFUSED`))
    assert.match(stdout, new RegExp(`database host +${host}: takes writes`))
  })

  test('fails immediately if settings are invalid or the database is of a newer version', async (t) => {
    const wrong: [string, RegExp][] = [
      [await changedUrl(t, (url) => (url.pathname = '/not-there')), /^PostgreSQL refused: .*not-there.*DATABASE_URL/m],
      [
        await changedUrl(t, (url) => (url.username = 'nobody-known')),
        /^PostgreSQL refused: .*nobody-known.*DATABASE_URL/m,
      ],
      ['no URL at all', /^Setting: DATABASE_URL/m],
      [await newerDatabase(t), /^The database needs migration 9999, .*; start the newer version$/m],
    ]
    for (const [DATABASE_URL, sentence] of wrong) {
      const { code, stderr } = await runServer(t, [], await settingsFor(t, 'postgres', { DATABASE_URL }))
      assert.equal(code, 1)
      assert.match(stderr, sentence)
      assert.doesNotMatch(stderr, /waiting|^\s+at /m)
    }
  })
})
