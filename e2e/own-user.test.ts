/**
 * The service under a user of its own: an agent on the same machine that runs as another user reads none of its files.
 * Switching users needs root; without it the tests check the error message.
 */
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../server/testkit/ports.ts'
import { eventually, runServer, settingsFor, spawnServer, startService, within } from './running-service.ts'
import type { Environment } from './running-service.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
const nobody = 65_534
/** Any other user: what matters is that it is neither the service's nor root. */
const stranger = 54_321
const server = resolve(import.meta.dirname, '../server')

describe('--user', () => {
  test('refuses an unknown user, root, a number and an empty name', async (t) => {
    const env = await settingsFor(t, 'sqlite')
    const cases: [string[], number, RegExp][] = [
      [['--user', 'no-such-user'], 1, /^Setting: --user: no user "no-such-user" in \/etc\/passwd\. Create one: /],
      [['serve', '--user', '65534'], 1, /no user "65534"/],
      [['--user', '-u'], 1, /no user "-u"/],
      [['--user', 'root'], 1, /^Setting: --user: "root" has root privileges\. /],
      [['--user'], 2, /^serve accepts only --user <name>\./],
      [['--user', 'nobody', 'more'], 2, /^serve accepts only --user <name>\./],
      [['--usr', 'nobody'], 2, /^serve accepts only --user <name>\./],
    ]
    for (const [args, code, words] of cases) {
      const ended = await runServer(t, args, env)
      assert.deepEqual([ended.code, ended.stdout], [code, ''], args.join(' '))
      assert.match(ended.stderr, words)
    }
    assert.deepEqual(readdirSync(env['SALLYPORT_DATA_DIR'] ?? ''), [])
  })

  test('needs root, unless the service already runs as that user', async (t) => {
    const env = await settingsFor(t, 'sqlite')
    if (isRoot) {
      const place = placeFor(t)
      const { status, stderr } = spawnSync(place.node, [place.executable, '--user', 'daemon'], {
        ...{ env, uid: nobody, gid: nobody, encoding: 'utf8' },
      })
      assert.equal(status, 1)
      assert.match(stderr, /^Setting: --user: only root can switch to "daemon"\./)
      return
    }
    const refused = await runServer(t, ['--user', 'nobody'], env)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /only root can switch to "nobody"/)
    const { child, stdout } = spawnServer(t, ['--user', userInfo().username], env)
    await eventually(() => stdout().includes('is ready'), 'it did not start as the same user')
    child.kill('SIGTERM')
  })

  test('the start screen says who else can act as the user', async (t) => {
    const { stdout } = await startService(t, 'sqlite')
    assert.match(
      stdout,
      new RegExp(`Every program that runs as ${userInfo().username} can read it and act as you, agents included`),
    )
    assert.match(stdout, /sudo sallyport-server --user NAME/)
  })
})

for (const workers of [1, 2]) {
  describe(
    `a service with --user, ${workers === 1 ? 'one process' : 'workers'}`,
    { skip: !isRoot && 'takes root' },
    () => {
      const endings: (() => unknown)[] = []
      const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Pick<TestContext, 'after'>
      let service: ReturnType<typeof spawnServer>
      let env: Environment
      let dataDir: string
      let place: Place
      before(async () => {
        place = placeFor(scope)
        dataDir = join(place.folder, 'made/for/it')
        env = {
          PATH: process.env['PATH'] ?? '',
          PORT: String(await freePort()),
          SALLYPORT_DATA_DIR: dataDir,
          SALLYPORT_WORKERS: String(workers),
        }
        service = spawnServer(scope, ['--user', 'nobody'], env, place)
        const ready = eventually(() => service.stdout().includes('sandbox/echo'), 'it did not start')
        await Promise.race([ready, service.exit.then(() => assert.fail(service.stderr()))])
      })
      after(async () => {
        for (const ending of endings) await ending()
      })

      test('every thread of every process has dropped root and all other groups for good', () => {
        const processes = [service.child.pid ?? 0, ...childrenOf(service.child.pid ?? 0)]
        assert.equal(processes.length, workers === 1 ? 1 : 1 + workers)
        for (const pid of processes) {
          const threads = readdirSync(`/proc/${pid}/task`)
          assert.ok(threads.length > 1)
          for (const thread of threads) {
            const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')
            const ids = (name: string) =>
              new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1]?.trim().split(/\s+/)
            assert.deepEqual(ids('Uid'), Array(4).fill(String(nobody)))
            assert.deepEqual(ids('Gid'), Array(4).fill(String(nobody)))
            assert.ok(['', String(nobody)].includes(ids('Groups')?.join(' ') ?? 'none'))
            assert.deepEqual([ids('CapEff'), ids('CapPrm')], [['0000000000000000'], ['0000000000000000']])
          }
        }
      })

      test('its directory and every file in it are private to that user', () => {
        const files = readdirSync(dataDir)
        assert.ok(files.includes('admin-token') && files.includes('master-key'))
        for (const path of [dataDir, ...files.map((name) => join(dataDir, name))]) {
          const { uid, gid, mode } = statSync(path)
          assert.deepEqual([uid, gid, mode & 0o077], [nobody, nobody, 0], path)
        }
        for (const name of files) {
          const { status, stdout } = spawnSync('cat', [join(dataDir, name)], { uid: stranger, gid: stranger })
          assert.deepEqual([status, stdout.length], [1, 0], name)
        }
      })

      test('its output has no sign-in link, as others may read it', () => {
        assert.ok(!service.stdout().includes('login_token'))
        assert.match(service.stdout(), /Only programs that run as nobody or root can read it/)
      })

      test("it works; another user can't run its commands, nor root a second service on its files", async (t) => {
        const base = `http://localhost:${env['PORT'] ?? ''}`
        assert.equal((await fetch(`${base}/readyz`)).status, 200)
        assert.equal((await fetch(`${base}/docs/static/openapi-explorer.js`)).status, 200)
        const registered = await fetch(`${base}/v4/agents/register`, {
          ...{ method: 'POST', body: '{"name":"one"}', headers: { 'content-type': 'application/json' } },
        })
        assert.equal(registered.status, 201)
        if (workers > 1) return
        for (const words of [['doctor'], ['keys', 'rotate'], ['v1-key', 'rotate'], ['audit', 'verify'], ['serve']]) {
          const { status, stdout, stderr } = spawnSync(place.node, [place.executable, ...words], {
            ...{ env, uid: stranger, gid: stranger, encoding: 'utf8' },
          })
          assert.deepEqual([status, stdout], [1, ''], words.join(' '))
          assert.match(
            stderr,
            /^Setting: SALLYPORT_DATA_DIR: ".*" belongs to the user "nobody", but this process runs as the user with id 54321/,
          )
        }
        const second = await runServer(t, [], env)
        assert.equal(second.code, 1)
        assert.match(
          second.stderr,
          /belongs to the user "nobody", but this process runs as the user "root"\. If that is intended, start it with --user nobody\./,
        )
      })

      test('it stops with SIGTERM, root can run its commands, and it starts again', async (t) => {
        service.child.kill('SIGTERM')
        assert.deepEqual(await within(service.exit, 'it did not stop'), { code: 0, signal: null })
        if (workers > 1) return
        for (const words of [['doctor'], ['audit', 'verify'], ['keys', 'rotate']]) {
          const { code, stderr } = await runServer(t, words, env)
          assert.equal(code, 0, stderr)
        }
        const ofRoot = readdirSync(dataDir).filter((name) => statSync(join(dataDir, name)).uid !== nobody)
        assert.deepEqual(ofRoot, [])
        const again = spawnServer(t, ['serve', '--user', 'nobody'], env, place)
        const ready = eventually(() => again.stdout().includes('is ready'), 'it did not start again')
        await Promise.race([ready, again.exit.then(() => assert.fail(again.stderr()))])
        again.child.kill('SIGTERM')
        assert.deepEqual(await within(again.exit, 'it did not stop'), { code: 0, signal: null })
      })
    },
  )
}

describe('the data directory of a service with --user', { skip: !isRoot && 'takes root' }, () => {
  test("changes owner only if it is root's and empty", async (t) => {
    const { folder } = placeFor(t)
    const refusals: [string, number, string[], RegExp][] = [
      ['full', 0, ['something'], /"\S+full" belongs to the user "root"\. Change its owner \(chown -R nobody /],
      ['of-another', stranger, [], /belongs to the user with id 54321\. Change its owner/],
    ]
    for (const [name, owner, files, words] of refusals) {
      const dataDir = join(folder, name)
      mkdirSync(dataDir, { mode: 0o700 })
      for (const file of files) writeFileSync(join(dataDir, file), '')
      chownSync(dataDir, owner, owner)
      const env = { ...(await settingsFor(t, 'sqlite')), SALLYPORT_DATA_DIR: dataDir }
      const { code, stderr } = await runServer(t, ['--user', 'nobody'], env)
      assert.equal(code, 1)
      assert.match(stderr, words)
      assert.equal(statSync(dataDir).uid, owner)
    }
  })

  test('that the user cannot reach is refused, naming the folder', async (t) => {
    const { folder } = placeFor(t)
    mkdirSync(join(folder, 'closed'), { mode: 0o700 })
    const env = { ...(await settingsFor(t, 'sqlite')), SALLYPORT_DATA_DIR: join(folder, 'closed/data') }
    const { code, stderr } = await runServer(t, ['--user', 'nobody'], env)
    assert.equal(code, 1)
    assert.match(stderr, /^Setting: --user: "nobody" has no access to \S+closed\/data\./)
  })
})

describe('systemd-unit', () => {
  test('prints a unit that systemd accepts', async (t) => {
    const place = placeFor(t, 'with space & 100% $HOME')
    const { stdout } = await run(place.node, [place.executable, 'systemd-unit'])
    for (const line of ['DynamicUser=yes', 'ProtectSystem=strict', 'StateDirectory=sallyport', 'NoNewPrivileges=yes']) {
      assert.ok(stdout.split('\n').includes(line), line)
    }
    assert.match(stdout, /^ExecStart="\S*node" ".*with space & 100%% \$\$HOME.*sallyport-server\.mjs" serve$/m)
    const file = join(place.folder, 'sallyport.service')
    writeFileSync(file, stdout)
    if (!existsSync('/usr/bin/systemd-analyze')) {
      t.diagnostic('systemd-analyze is not here: the unit was not verified')
      return
    }
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    const complaints = verified.stderr.split('\n').filter((line) => line.includes(basename(file)))
    assert.deepEqual([verified.status, complaints], [0, []], verified.stderr)
  })

  test('reports that a dedicated user could not read the installation', async (t) => {
    const place = placeFor(t)
    chmodSync(place.folder, 0o700)
    const refused = await run(place.node, [place.executable, 'systemd-unit']).then(
      () => '',
      (error: unknown) => (error as Error).message,
    )
    assert.match(refused, /systemd-unit: a dedicated user could not read .*npm install --global/)
  })

  test('has no sign-in link in the journal', { skip: !existsSync('/proc/self/fd') }, async (t) => {
    const { stdout, env } = await startService(t, 'sqlite')
    assert.ok(stdout.includes('login_token'))
    const output = join(env['SALLYPORT_DATA_DIR'] ?? '', '../journal-of-own-user')
    t.after(() => {
      rmSync(output, { force: true })
    })
    writeFileSync(output, '')
    const { dev, ino } = statSync(output)
    const data = mkdtempSync(join(tmpdir(), 'sallyport-e2e-'))
    const settings = {
      ...env,
      PORT: String(await freePort()),
      SALLYPORT_DATA_DIR: data,
      JOURNAL_STREAM: `${dev}:${ino}`,
    }
    const service = spawnServer(t, [], settings, { output })
    await eventually(() => readFileSync(output, 'utf8').includes('is ready'), 'it did not start')
    assert.ok(!readFileSync(output, 'utf8').includes('login_token'))
    service.child.kill('SIGTERM')
    await service.exit
    rmSync(data, { recursive: true })
  })
})

interface Place {
  folder: string
  executable: string
  node: string
}

/** The built service in a folder that every user can read, wherever the clone is. */
function placeFor(t: Pick<TestContext, 'after'>, name = 'package'): Place {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-own-user-'))
  t.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  chmodSync(folder, 0o755)
  const into = join(folder, name)
  mkdirSync(join(into, 'dist'), { recursive: true })
  for (const part of ['bin', 'package.json', 'dist/sallyport-server.js', 'dist/scan.wasm', 'dist/reference']) {
    cpSync(join(server, part), join(into, part), { recursive: true })
  }
  execFileSync('chmod', ['-R', 'a+rX', into])
  return { folder, executable: join(into, 'bin/sallyport-server.mjs'), node: nodeForAll(folder) }
}

/** The Node of the tests, or a copy where the clone is closed to others. */
function nodeForAll(folder: string): string {
  const isOpen = !isRoot || spawnSync('test', ['-x', process.execPath], { uid: nobody, gid: nobody }).status === 0
  if (isOpen) return process.execPath
  const copy = join(folder, 'node')
  copyFileSync(process.execPath, copy)
  chmodSync(copy, 0o755)
  return copy
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
}
