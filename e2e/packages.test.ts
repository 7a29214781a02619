/** The packages as users get them: tarballs, each installed into an empty folder, without a registry. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { freePort } from '../server/testkit/ports.ts'
import { installAlone, packWorkspaces, plainEnvironment } from './packing.ts'
import { within } from './running-service.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '..')
const names = ['server', 'cli', 'sdk'] as const

describe('the packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-packages-'))
  let apps: Record<(typeof names)[number], string>
  let base: string
  let stop: () => Promise<unknown> = () => Promise.resolve()
  before(async () => {
    const tarballs = await packWorkspaces(folder, names)
    const [server, cli, sdk] = await Promise.all(names.map((name) => installAlone(folder, tarballs[name])))
    apps = { server: server ?? '', cli: cli ?? '', sdk: sdk ?? '' }
    const port = await freePort()
    base = `http://localhost:${port}`
    const env = { ...plainEnvironment(folder), PORT: String(port) }
    const service = spawn('node_modules/.bin/sallyport-server', { cwd: apps.server, env })
    const ended = once(service, 'close')
    stop = () => {
      service.kill('SIGTERM')
      return ended
    }
    let printed = ''
    const ready = Promise.withResolvers<unknown>()
    service.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    service.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
      if (printed.includes('Sallyport is ready at')) ready.resolve(undefined)
    })
    const failed = ended.then(() => {
      throw new Error(`the service ended: ${printed}`)
    })
    failed.catch(() => undefined)
    await within(Promise.race([ready.promise, failed]), 'the installed service did not start')
  })
  after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const name of names) {
    test(`${name}: has the published files and nothing of the machine that packed it`, () => {
      const installed = join(apps[name], 'node_modules/@sallyport', name)
      const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
      const own = JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8'))
      for (const member of ['name', 'version', 'license', 'engines', 'bin', 'files'])
        assert.deepEqual(manifest[member], own[member])
      const unwanted = /dependencies|scripts|private|workspaces|publishConfig/i
      assert.deepEqual(
        Object.keys(manifest).filter((member) => unwanted.test(member)),
        [],
      )
      const files = filesBelow(installed)
      for (const file of ['LICENSE', 'README.md', ...Object.values<string>(manifest.bin ?? {})])
        assert.ok(
          files.some(({ path }) => path === file),
          `${name} lacks ${file}`,
        )
      if (name !== 'sdk') assert.match(readFileSync(join(installed, 'dist/licenses.md'), 'utf8'), /MIT License/)
      const strange = files.filter(
        ({ path }) =>
          /compile-cache\/entry|\.built-|node_modules|\.(?:test\.)?ts$/.test(path) && !path.endsWith('.d.ts'),
      )
      assert.deepEqual(strange, [])
      // Our text files contain no path of the build machine.
      const telling = files.filter(({ path }) => readFileSync(join(installed, path), 'latin1').includes(root))
      assert.deepEqual(
        telling.filter(({ path }) => !path.startsWith('dist/compile-cache/')),
        [],
      )
    })

    test(`${name}: installs no other packages`, () => {
      const modules = filesBelow(join(apps[name], 'node_modules'))
      const others = modules.filter(({ path }) => !/^(?:@sallyport\/|\.bin\/|\.package-lock\.json$)/.test(path))
      assert.deepEqual(others, [])
      assert.deepEqual(readdirSync(join(apps[name], 'node_modules/@sallyport')), [name])
      assert.ok(lstatSync(join(apps[name], 'node_modules/@sallyport', name)).isDirectory())
      const bytes = modules.reduce((sum, { size }) => sum + size, 0)
      assert.ok(bytes < 40 * 1024 * 1024, `${bytes} bytes`)
    })
  }

  test('the service starts and serves the reference, the pages with their assets, and the guide', async () => {
    assert.equal((await fetch(`${base}/readyz`)).status, 200)
    for (const path of ['/docs', '/', '/authenticator']) {
      const response = await fetch(base + path)
      assert.equal(response.status, 200, path)
      const parts = [...(await response.text()).matchAll(/(?:src|href)="([^"#]+\.\w+)"/g)].map(([, part = '']) => part)
      assert.ok(parts.length > 1, path)
      for (const part of parts) {
        const answer = await fetch(new URL(part, `${base}${path}`))
        assert.equal(answer.status, 200, part)
        assert.ok((await answer.arrayBuffer()).byteLength > 100, part)
      }
    }
    const guide = await (await fetch(`${base}/llms.txt`)).text()
    assert.match(guide, /^# /)
    assert.ok(guide.includes(base))
  })

  test('the command line and its MCP server work with that service', async () => {
    const home = join(folder, 'home')
    mkdirSync(home)
    const env = { ...plainEnvironment(home), SALLYPORT_URL: base }
    const sallyport = (...words: string[]) =>
      run('npx', ['--offline', 'sallyport', ...words], { cwd: apps.cli, env }).then(({ stdout }) => stdout)
    const { version } = JSON.parse(readFileSync(join(root, 'cli/package.json'), 'utf8'))
    assert.ok((await sallyport('--version')).includes(version))
    await sallyport('register', 'Packed')
    assert.match(await sallyport('sandbox', '--json'), /\[REDACTED\]/)
    const client = new Client({ name: 'packages', version: '1' })
    await client.connect(
      new StdioClientTransport({ command: 'node_modules/.bin/sallyport', args: ['mcp'], cwd: apps.cli, env }),
    )
    const { tools } = await client.listTools()
    await client.close()
    assert.ok(tools.some(({ name }) => name === 'call_api'))
  })

  test('the SDK works with that service', async () => {
    writeFileSync(
      join(apps.sdk, 'main.mjs'),
      `import { createAgentClient, registerAgent } from '@sallyport/sdk'
       const baseUrl = process.argv[2]
       const { access_token: token } = await registerAgent({ baseUrl, name: 'packed' })
       const agent = createAgentClient({ baseUrl, token })
       const { grant_id, echo_url } = await agent.sandbox()
       console.log((await agent.proxy({ grant_id, method: 'GET', url: echo_url })).body.headers.authorization)`,
    )
    const { stdout } = await run('node', ['main.mjs', base], { cwd: apps.sdk, env: plainEnvironment(folder) })
    assert.equal(stdout.trim(), 'Bearer [REDACTED]')
  })

  test("the other commands work, and the version is the package's", async () => {
    const env = plainEnvironment(folder)
    const { stdout } = await run('npx', ['--offline', 'sallyport-server', 'doctor'], { cwd: apps.server, env })
    assert.match(stdout, /schema up to date/)
    const token = readFileSync(join(apps.server, 'data/admin-token'), 'utf8').trim()
    const health = await fetch(`${base}/v4/health`, { headers: { authorization: `Bearer ${token}` } })
    const { version } = JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8'))
    assert.equal(((await health.json()) as { version: string }).version, version)
  })
})

describe('a clone', () => {
  /** A folder with our scripts and a fake npm that only prints its arguments. */
  function clone(change: (installed: Record<string, { version?: string }>) => void, lists = true): string {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-clone-'))
    for (const part of ['scripts', 'bin', 'node_modules/one', 'node_modules/two']) {
      mkdirSync(join(folder, part), { recursive: true })
    }
    const script = readFileSync(join(root, 'scripts/prepare.mjs'), 'utf8')
    writeFileSync(join(folder, 'scripts/prepare.mjs'), script)
    writeFileSync(join(folder, 'bin/npm'), '#!/bin/sh\necho "npm $1"\nexit 3\n', { mode: 0o755 })
    const packages = { 'node_modules/one': { version: '1.0.0' }, 'node_modules/two': { version: '2.0.0' } }
    const elsewhere = { 'node_modules/three': { version: '3.0.0', optional: true } }
    const lock = { packages: { '': {}, ...packages, ...elsewhere } }
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
    const installed: Record<string, { version?: string }> = structuredClone(packages)
    change(installed)
    if (lists) writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: installed }))
    return folder
  }

  async function installs(folder: string): Promise<boolean> {
    const code = "import('./scripts/prepare.mjs').then(({ install }) => install())"
    const env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` }
    const { stdout } = await run(process.execPath, ['-e', code], { cwd: folder, env }).catch(
      (error: unknown) => error as { stdout: string },
    )
    return stdout === 'npm ci\n'
  }

  const states: [string, boolean, string][] = [
    ['nothing after npm ci', false, clone(() => undefined)],
    ['nothing if packages were added by hand', false, clone((installed) => (installed['node_modules/more'] = {}))],
    [
      'everything if a version differs',
      true,
      clone((installed) => (installed['node_modules/two'] = { version: '1.9.0' })),
    ],
    ['everything if a package is missing', true, clone((installed) => delete installed['node_modules/two'])],
    ['everything if an install was interrupted', true, clone(() => undefined, false)],
  ]
  after(() => {
    for (const [, , folder] of states) rmSync(folder, { recursive: true, force: true })
  })
  for (const [what, wanted, folder] of states) {
    test(`installs ${what}`, async () => {
      assert.equal(await installs(folder), wanted)
    })
  }

  test("installs everything again if a package's folder is missing", async (t) => {
    const folder = clone(() => undefined)
    t.after(() => {
      rmSync(folder, { recursive: true, force: true })
    })
    rmSync(join(folder, 'node_modules/one'), { recursive: true })
    assert.ok(await installs(folder))
  })

  test('has the packages of its lockfile installed', async () => {
    const code = "import('./scripts/prepare.mjs').then(({ isInstalled }) => console.log(isInstalled()))"
    const { stdout } = await run(process.execPath, ['-e', code], { cwd: root })
    assert.equal(stdout.trim(), 'true')
  })
})

interface Found {
  path: string
  size: number
}

function filesBelow(folder: string): Found[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return { path: relative(folder, path), size: lstatSync(path).size }
    })
}
