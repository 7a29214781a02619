/** The release as it is published: one tarball, on a machine that has no Node. */
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../server/testkit/ports.ts'
import { makeRelease, platform } from './packing.ts'
import { eventually } from './running-service.ts'
import type { Environment } from './running-service.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8')) as { version: string }
/** Another user than the one that unpacks it, if that is root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

describe('a release', () => {
  // Not the folder of this run, which only its own user can enter.
  const folder = mkdtempSync('/tmp/sallyport-release-')
  const opened = (...path: string[]) => {
    const made = join(folder, ...path)
    mkdirSync(made)
    chmodSync(made, 0o777)
    return made
  }
  let files: string
  let home: string
  let env: Environment
  before(async () => {
    chmodSync(folder, 0o755)
    files = await makeRelease(join(folder, 'one'))
    execFileSync('tar', ['-xzf', join(files, `sallyport-${version}-${platform}.tar.gz`), '-C', opened('unpacked')])
    home = join(folder, 'unpacked', `sallyport-${version}-${platform}`)
    const path = opened('path')
    for (const name of ['sh', 'readlink']) symlinkSync(`/bin/${name}`, join(path, name))
    for (const name of ['sallyport', 'sallyport-server']) symlinkSync(join(home, 'bin', name), join(path, name))
    const port = await freePort()
    env = {
      PATH: path,
      HOME: opened('home'),
      PORT: String(port),
      SALLYPORT_DATA_DIR: join(folder, 'home', 'data'),
      SALLYPORT_URL: `http://localhost:${port}`,
      SALLYPORT_GATEWAY_PORT: 'off',
    }
  })
  after(() => {
    rmSync(folder, { recursive: true, force: true })
  })

  test('runs in an empty folder, as another user and without a Node, and its command line and SDK call the sandbox', async (t) => {
    await assert.rejects(run(join(env['PATH'] ?? '', 'sh'), ['-c', 'node --version'], { env }))
    const service = spawn(join(env['PATH'] ?? '', 'sallyport-server'), [], { cwd: opened('empty'), env, ...user })
    const ended = once(service, 'close')
    t.after(async () => {
      service.kill('SIGTERM')
      await ended
    })
    let printed = ''
    for (const stream of [service.stdout, service.stderr])
      stream.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    await eventually(() => printed.includes('Sallyport is ready at') || service.exitCode !== null, 'it does not start')
    assert.equal(service.exitCode, null, printed)
    assert.equal(statSync(join(env['SALLYPORT_DATA_DIR'] ?? '', 'sallyport.db')).uid, user.uid ?? process.getuid?.())

    const third = opened('third')
    const sallyport = async (...words: string[]) => {
      const { stdout } = await run(join(env['PATH'] ?? '', 'sallyport'), words, { cwd: third, env, ...user })
      return stdout
    }
    assert.equal((await sallyport('--version')).trim(), version)
    await sallyport('register', 'Released')
    assert.match(await sallyport('sandbox', '--json'), /\[REDACTED\]/)
    writeFileSync(
      join(third, 'main.mjs'),
      `import { createAgentClient, registerAgent } from ${JSON.stringify(join(home, 'sdk/dist/index.js'))}
       const baseUrl = process.argv[2]
       const { access_token: token } = await registerAgent({ baseUrl, name: 'released' })
       const agent = createAgentClient({ baseUrl, token })
       const { grant_id, echo_url } = await agent.sandbox()
       console.log((await agent.proxy({ grant_id, method: 'GET', url: echo_url })).body.headers.authorization)`,
    )
    const { stdout } = await run(join(home, 'node/bin/node'), ['main.mjs', env['SALLYPORT_URL'] ?? ''], {
      cwd: third,
      env,
      ...user,
    })
    assert.equal(stdout.trim(), 'Bearer [REDACTED]')
    const { SALLYPORT_URL: _ofTheCommandLine, ...settings } = env
    const commands = await run(join(home, 'bin/sallyport-server'), ['doctor'], { env: settings, ...user })
    assert.match(commands.stdout, /schema up to date/)
  })

  test('has checksums, a bill of materials, licences, man pages and completions', () => {
    const sums = readFileSync(join(files, 'SHA256SUMS'), 'utf8').trim().split('\n')
    const names = readdirSync(files).filter((name) => name !== 'SHA256SUMS')
    assert.deepEqual(
      sums,
      names.sort().map((name) => {
        const digest = createHash('sha256')
          .update(readFileSync(join(files, name)))
          .digest('hex')
        return `${digest}  ${name}`
      }),
    )
    const bill = JSON.parse(readFileSync(join(home, 'sbom.cdx.json'), 'utf8'))
    assert.equal(bill.bomFormat, 'CycloneDX')
    const listed = new Map<string, object[]>(bill.components.map(({ purl, hashes }: never) => [purl, hashes]))
    for (const name of ['fastify', 'pg', 'react', 'undici', `node-${platform}`]) {
      const [purl, hashes] = [...listed].find(([one]) => one.startsWith(`pkg:npm/${name}@`)) ?? assert.fail(name)
      assert.equal(hashes.length, 1, purl)
    }
    assert.ok(![...listed.keys()].some((purl) => purl.includes('playwright')), 'tools of development are not in it')
    const wanted = ['LICENSE', 'INSTALL.md', 'node/LICENSE', 'server/dist/licenses.md', 'cli/dist/licenses.md']
    for (const file of [...wanted, 'server/dist/pages/licenses.md']) assert.ok(existsSync(join(home, file)), file)
    const manual = readFileSync(join(home, 'share/man/man8/sallyport-server.8'), 'utf8')
    assert.match(manual, /^\.B SALLYPORT_DATA_DIR$/m)
    assert.match(manual, /sallyport\\-server backup <file>/)
    assert.match(readFileSync(join(home, 'share/man/man1/sallyport.1'), 'utf8'), /^\.SH REGISTER$/m)
    for (const [shell, file] of Object.entries({
      bash: 'bash-completion/completions/sallyport',
      zsh: 'zsh/site-functions/_sallyport',
      fish: 'fish/vendor_completions.d/sallyport.fish',
    })) {
      const printed = execFileSync(join(home, 'bin/sallyport'), ['completion', shell], { env, encoding: 'utf8' })
      assert.equal(readFileSync(join(home, 'share', file), 'utf8').trim(), printed.trim())
    }
    const unit = readFileSync(join(home, 'lib/systemd/system/sallyport.service'), 'utf8')
    const [, node, script] = /^ExecStart="\/opt\/sallyport\/(\S+)" "\/opt\/sallyport\/(\S+)" serve$/m.exec(unit) ?? []
    for (const file of [node, script]) assert.ok(existsSync(join(home, file ?? assert.fail(unit))))
    // Node's cache of compiled code is for the user that started it.
    const wrong = [
      '(',
      '!',
      '-perm',
      '-o+r',
      '-o',
      '-perm',
      '/o+w',
      ')',
      '-type',
      'f',
      '-not',
      '-path',
      '*/compile-cache/*',
    ]
    const others = execFileSync('find', [home, ...wrong], { encoding: 'utf8' })
    assert.equal(others, '', 'everyone can read it, nobody else can write')
  })

  test('built again elsewhere has the same bytes', async () => {
    const again = await makeRelease(join(folder, 'another place'), { isRebuilt: true })
    assert.equal(readFileSync(join(again, 'SHA256SUMS'), 'utf8'), readFileSync(join(files, 'SHA256SUMS'), 'utf8'))
  })
})
