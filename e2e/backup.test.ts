import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { signIn } from './person.ts'
import { dataFolder, eventually, roomy, runServer, settingsFor, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'
import { mountSmallDisk } from './small-disk.ts'

async function sandboxOf(service: RunningService) {
  const { token, agentId } = await service.register()
  const { example, grant_id: grantId } = (await service.call('POST', '/v4/sandbox/start', { token })).body
  const call = () => service.call('POST', '/v4/proxy', { token, body: example.body })
  return { token, agentId, grantId: String(grantId), call }
}

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8)
const newestHead = (log: string) =>
  log.match(/sallyport-audit-head\.v1\.[\w.-]+/g)?.at(-1) ?? assert.fail('no head is in the log')

describe('backup and restore', { concurrency: 2 }, () => {
  test('a backup taken while calls are made has all that was committed before, restored elsewhere', async (t) => {
    const service = await startService(t, 'sqlite', roomy)
    const agents = await Promise.all(Array.from({ length: 4 }, () => sandboxOf(service)))
    const answered: string[] = []
    let isEnough = false
    const callers = agents.map(async ({ call }) => {
      while (!isEnough) {
        const { status, body, text } = await call()
        assert.equal(status, 200, text)
        answered.push(body.audit_id)
      }
    })
    await eventually(() => answered.length > 20, 'no calls are made')
    const before = [...answered]
    const file = join(dataFolder(t), 'copy.db')
    const backup = await runServer(t, ['backup', file], service.env)
    assert.equal(backup.code, 0, backup.stderr)
    assert.match(backup.stdout, /✓ checked: complete, and the master key opens it/)
    const whileCopied = answered.length
    isEnough = true
    await Promise.all(callers)
    assert.ok(whileCopied > before.length, 'calls went on meanwhile')
    assert.equal(modeOf(file), '600')
    assert.deepEqual(readdirSync(join(file, '..')), ['copy.db'])

    const dataDir = join(dataFolder(t), 'elsewhere')
    const env = await settingsFor(t, 'sqlite', { ...roomy, SALLYPORT_DATA_DIR: dataDir })
    const early = await runServer(t, ['restore', file], env)
    assert.equal(early.code, 1)
    assert.match(early.stderr, /No master key: put the one that was in use/)
    assert.ok(!existsSync(join(dataDir, 'master-key')), 'none is created')
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    for (const name of ['master-key', 'admin-token']) copyFileSync(join(service.dataDir, name), join(dataDir, name))
    const restored = await runServer(t, ['restore', file], env)
    assert.equal(restored.code, 0, restored.stderr)
    assert.match(restored.stdout, /all agents are paused/)
    assert.equal(modeOf(join(dataDir, 'sallyport.db')), '600')

    const second = await startService(t, 'sqlite', env)
    const admin = { token: second.adminToken }
    const kept = new DatabaseSync(join(dataDir, 'sallyport.db'), { readOnly: true })
    const ids = new Set(
      kept
        .prepare('select audit_id from audit_records')
        .all()
        .map(({ audit_id: id }) => id),
    )
    kept.close()
    assert.deepEqual(
      before.filter((id) => !ids.has(id)),
      [],
    )
    const [agent] = agents
    const { grants } = (await second.call('GET', '/v4/grants', { token: agent?.token })).body
    assert.equal(grants[0].grant_id, agent?.grantId)
    assert.ok((await second.call('GET', '/v4/pause', admin)).body.service_paused_at)
    assert.equal((await second.call('DELETE', '/v4/pause', admin)).status, 200)
    assert.equal((await runServer(t, ['audit', 'verify'], env)).code, 0)
  })

  test('after a restore, sessions end, revocations stay, later grants are named, and the record explains the gap', async (t) => {
    const service = await startService(t, 'sqlite', roomy)
    const file = join(dataFolder(t), 'copy.db')
    const [kept, revoked] = [await sandboxOf(service), await sandboxOf(service)]
    const { token: session } = await signIn(service)
    assert.equal((await runServer(t, ['backup', file], service.env)).code, 0)
    assert.equal((await service.call('POST', `/v4/grants/${revoked.grantId}/revoke`, revoked)).status, 200)
    const later = await sandboxOf(service)
    assert.equal((await later.call()).status, 200)
    const running = await runServer(t, ['restore', file], service.env)
    assert.equal(running.code, 1)
    assert.match(running.stderr, /The service is running on this database\. Stop it/)
    assert.equal((await kept.call()).status, 200, 'a refused restore changes nothing')
    await service.stop()
    const lostHead = newestHead(service.log)

    const restored = await runServer(t, ['restore', file], service.env)
    assert.equal(restored.code, 0, restored.stderr)
    assert.match(restored.stdout, new RegExp(`! 1 grants made since are gone.*\\n +${later.grantId}, "an agent"`))
    assert.match(restored.stdout, /stays so: 1 grants/)
    const aside = readdirSync(service.dataDir).find((name) => /^sallyport\.db\.replaced-\d{8}T\d{6}Z$/.test(name))
    assert.equal(modeOf(join(service.dataDir, aside ?? assert.fail('the replaced database is gone'))), '600')
    assert.deepEqual(
      readdirSync(service.dataDir).filter((name) => name.includes('partial')),
      [],
    )
    await service.startAgain()
    assert.equal((await service.call('GET', '/v4/auth/me', { token: session })).status, 401)
    assert.equal((await kept.call()).status, 200)
    assert.equal((await revoked.call()).body.error.code, 'grant_revoked')
    assert.equal((await later.call()).status, 401, 'it was registered after the backup')
    const listed = await service.call('GET', '/v4/audit?event=database.restored', { token: service.adminToken })
    assert.deepEqual(listed.body.records[0]?.detail.lost_grant_ids, [later.grantId])
    await service.stop()
    const afterwards = newestHead(service.log)

    const verified = await runServer(t, ['audit', 'verify', '--head', lostHead, '--head', afterwards], service.env)
    assert.equal(verified.code, 0, verified.stdout)
    assert.match(verified.stdout, /Restored at .* from a backup .* \d+ records of \d chains? came after/)
    assert.match(verified.stdout, /1 of the given heads are of records that a restore left out/)

    // A thief puts the backup back without the command, which would have left a record.
    copyFileSync(file, join(service.dataDir, 'sallyport.db'))
    for (const log of ['-wal', '-shm']) rmSync(join(service.dataDir, `sallyport.db${log}`), { force: true })
    const stolen = await runServer(t, ['audit', 'verify', '--head', lostHead], service.env)
    assert.equal(stolen.code, 1, stolen.stdout)
    assert.match(stolen.stdout, /records after this position were removed: the given head/)
    // A restore on top of that does not cover it up: the database that it replaced had lost the records before.
    assert.equal((await runServer(t, ['restore', file], service.env)).code, 0)
    assert.equal((await runServer(t, ['audit', 'verify', '--head', lostHead], service.env)).code, 1)
  })

  test('a restore refuses what is not a whole backup of its own, and replaces nothing', async (t) => {
    const service = await startService(t, 'sqlite')
    const folder = dataFolder(t)
    const place = (name: string) => join(folder, name)
    const good = place('good.db')
    assert.equal((await runServer(t, ['backup', good], service.env)).code, 0)
    await service.stop()
    const copy = (name: string, change: (file: string) => void) => {
      copyFileSync(good, place(name))
      change(place(name))
      return place(name)
    }
    const change = (statement: string) => (file: string) => {
      const database = new DatabaseSync(file)
      database.exec(statement)
      database.close()
    }
    execFileSync('mkfifo', [place('pipe')])
    new DatabaseSync(place('other.db')).exec('create table notes (text)')
    const cases: [string, RegExp, object?][] = [
      [
        copy('half.db', (file) => {
          truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096)
        }),
        /is not a complete database/,
      ],
      [
        copy('odd.db', (file) => {
          truncateSync(file, statSync(file).size - 1)
        }),
        /is not a complete database/,
      ],
      [
        copy('garbage.db', (file) => {
          writeFileSync(file, randomBytes(9000))
        }),
        /is not a complete database/,
      ],
      [
        copy('empty.db', (file) => {
          writeFileSync(file, '')
        }),
        /is not a complete database: it is empty/,
      ],
      [
        copy('newer.db', change(`insert into migrations (number, name, applied_at) values (900, 'later', 0)`)),
        /knows only \d+; start the newer version/,
      ],
      [
        copy('log.db', (file) => {
          writeFileSync(`${file}-wal`, 'x')
        }),
        /log\.db-wal exists/,
      ],
      [place('other.db'), /is a SQLite database, but not one of Sallyport/],
      [place('pipe'), /is not a file/],
      [place('gone.db'), /does not exist/],
      [join(service.dataDir, 'sallyport.db'), /is the service's own database/],
      [good, /does not match the one that encrypted/, { SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64url') }],
    ]
    const state = () => readdirSync(service.dataDir).map((name) => [name, statSync(join(service.dataDir, name)).ino])
    const before = state()
    for (const [file, words, settings = {}] of cases) {
      const { code, stderr } = await runServer(t, ['restore', file], { ...service.env, ...settings })
      assert.equal(code, 1, file)
      assert.match(stderr, words)
      assert.doesNotMatch(stderr, /^\s+at /m)
      assert.deepEqual(state(), before, file)
    }
    symlinkSync(good, place('newest'))
    assert.equal((await runServer(t, ['restore', place('newest')], service.env)).code, 0, 'a link to a backup is one')
  })

  test('a backup overwrites nothing, follows no link and leaves no half of a file', async (t) => {
    const service = await startService(t, 'sqlite')
    const folder = dataFolder(t)
    const place = (name: string) => join(folder, name)
    writeFileSync(place('precious'), 'mine')
    symlinkSync(place('precious'), place('link'))
    symlinkSync(place('nowhere'), place('dangling'))
    const cases: [string, RegExp, object?][] = [
      [place('precious'), /exists, and is left as it is/],
      [place('link'), /exists, and is left as it is/],
      [place('dangling'), /exists, and is left as it is/],
      [join(folder, 'no/such.db'), /is not a folder/],
      [place('big.db'), /A backup in .* needs \d+ MiB/, { SALLYPORT_DISK_FLOOR_BYTES: '999999999999' }],
      [place('wrong.db'), /master key does not match/, { SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64url') }],
    ]
    for (const [file, words, settings = {}] of cases) {
      const { code, stderr } = await runServer(t, ['backup', file], { ...service.env, ...settings })
      assert.equal(code, 1, file)
      assert.match(stderr, words)
    }
    assert.equal(readFileSync(place('precious'), 'utf8'), 'mine')
    assert.deepEqual(readdirSync(folder).sort(), ['dangling', 'link', 'precious'])
    for (const words of [[], ['--force', place('a')], [place('a'), place('b')]]) {
      assert.equal((await runServer(t, ['backup', ...words], service.env)).code, 2)
    }
    const disk = mountSmallDisk(t, 1)
    if (disk === undefined) return
    writeFileSync(join(disk, 'other-program'), Buffer.alloc(900 * 1024))
    const full = await runServer(t, ['backup', join(disk, 'copy.db')], service.env)
    assert.equal(full.code, 1)
    assert.match(full.stderr, /needs \d+ MiB, and 0 MiB are free/)
    assert.deepEqual(readdirSync(disk), ['other-program'])
  })

  test('a damaged database is replaced, and kept aside as it is', async (t) => {
    const service = await startService(t, 'sqlite')
    const file = join(dataFolder(t), 'copy.db')
    assert.equal((await runServer(t, ['backup', file], service.env)).code, 0)
    await service.stop()
    const noise = randomBytes(20_000)
    writeFileSync(join(service.dataDir, 'sallyport.db'), noise)
    const { code, stdout, stderr } = await runServer(t, ['restore', file], service.env)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /what came after is not known.*\n.*all agents are paused/)
    const aside = readdirSync(service.dataDir).find((name) => name.includes('.replaced-')) ?? assert.fail()
    assert.deepEqual(readFileSync(join(service.dataDir, aside)), noise)
    await service.startAgain()
  })

  test('root restores the database of another user as that user', async (t) => {
    if (process.getuid?.() !== 0) {
      t.skip('only root can act as another user')
      return
    }
    const service = await startService(t, 'sqlite')
    // The folder of this run is root's alone.
    const dataDir = mkdtempSync('/tmp/sallyport-restore-')
    t.after(() => {
      rmSync(dataDir, { recursive: true, force: true })
    })
    const backup = join(dataFolder(t), 'copy.db')
    assert.equal((await runServer(t, ['backup', backup], service.env)).code, 0)
    await service.stop()
    for (const name of ['sallyport.db', 'master-key', 'admin-token']) {
      copyFileSync(join(service.dataDir, name), join(dataDir, name))
      chownSync(join(dataDir, name), 65_534, 65_534)
    }
    chownSync(dataDir, 65_534, 65_534)
    const env = { ...service.env, SALLYPORT_DATA_DIR: dataDir }
    const { code, stderr } = await runServer(t, ['restore', backup], env)
    assert.equal(code, 0, stderr)
    const files = readdirSync(dataDir).sort()
    const [, , , aside = ''] = files
    assert.deepEqual(files, ['admin-token', 'master-key', 'sallyport.db', aside])
    for (const name of files) assert.equal(statSync(join(dataDir, name)).uid, 65_534, name)
  })

  test('what PostgreSQL restored is made fit for service in place, once all instances are stopped', async (t) => {
    const service = await startService(t, 'postgres')
    const { token } = await signIn(service)
    for (const words of [
      ['backup', 'x'],
      ['restore', 'x'],
    ]) {
      const { code, stderr } = await runServer(t, words, service.env)
      assert.equal(code, 1)
      assert.match(stderr, /PostgreSQL's own tools/)
    }
    const early = await runServer(t, ['restore', '--in-place'], service.env)
    assert.match(early.stderr, /The service is running on this database/)
    await service.stop()
    const settled = await runServer(t, ['restore', '--in-place'], service.env)
    assert.equal(settled.code, 0, settled.stderr)
    assert.match(settled.stdout, /ended: 1 sessions/)
    await service.startAgain()
    assert.equal((await service.call('GET', '/v4/auth/me', { token })).status, 401)
    assert.ok((await service.call('GET', '/v4/pause', { token: service.adminToken })).body.service_paused_at)
    const verified = await runServer(t, ['audit', 'verify'], service.env)
    assert.equal(verified.code, 0)
    assert.match(verified.stdout, /The replaced database could not be read/)
  })
})
