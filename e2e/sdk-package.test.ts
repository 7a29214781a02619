/** The packed SDK, installed into an empty folder: on other Node versions, with a type checker, in a browser. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type * as Sdk from '@sallyport/sdk'
import ts from 'typescript'
import { launchBrowser } from '../server/testkit/browser.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { installAlone, packWorkspaces } from './packing.ts'
import { eventually } from './running-service.ts'
import { startToldUpstream } from './sdk-upstream.ts'
import type { ToldUpstream } from './sdk-upstream.ts'

const run = promisify(execFile)

describe('the package of the SDK', () => {
  let folder: string
  let app: string
  let installed: string
  let tarball: string
  let calling: Calling
  let upstream: ToldUpstream
  let baseUrl: string
  const endings: (() => unknown)[] = []
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-sdk-'))
    endings.push(() => {
      rmSync(folder, { recursive: true, force: true })
    })
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    const packing = packWorkspaces(folder, ['sdk'])
    upstream = await startToldUpstream(scope)
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host] })
    baseUrl = `http://localhost:${calling.service.port}`
    tarball = (await packing).sdk
    app = await installAlone(folder, tarball)
    installed = join(app, 'node_modules/@sallyport/sdk')
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  test('is small, has no dependencies, and contains only what is published', () => {
    assert.ok(statSync(tarball).size < 60_000, String(statSync(tarball).size))
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const needs = Object.keys(manifest).filter((name) => /dependenc|scripts|private|publish/i.test(name))
    assert.deepEqual(needs, [])
    assert.deepEqual(readdirSync(installed).sort(), ['LICENSE', 'README.md', 'dist', 'package.json'])
    const code = readFileSync(join(installed, 'dist/index.js'), 'utf8')
    assert.doesNotMatch(code, /^import |\brequire\(|typebox/m)
  })

  const script = `
    import { createAgentClient, registerAgent } from '@sallyport/sdk'
    const [baseUrl] = process.argv.slice(2)
    const { access_token: token } = await registerAgent({ baseUrl, name: 'bare' })
    const agent = createAgentClient({ baseUrl, token })
    const { grant_id, echo_url } = await agent.sandbox()
    const form = new FormData()
    form.set('a', 'ü')
    const response = await agent.fetch(grant_id)(echo_url, { method: 'POST', body: form })
    const { headers, body } = await response.json()
    const refused = await agent.fetch('none')(echo_url)
    const isRefused = refused.status === 404 && refused.headers.get('x-sallyport-error') === 'grant_not_found'
    console.log(response.status, headers.authorization, body.includes('ü'), response.url === echo_url, isRefused)`

  for (const major of [20, 24]) {
    test(`works in a bare Node ${major}`, async (t) => {
      const node = await nodeOf(major)
      if (node === undefined) {
        t.skip(`there is no Node ${major} on this machine`)
        return
      }
      writeFileSync(join(app, 'main.mjs'), script)
      // NODE_OPTIONS of the tests may not work with another Node version.
      const env = { ...process.env, NODE_OPTIONS: '' }
      const { stdout } = await run(node, [join(app, 'main.mjs'), baseUrl], { cwd: app, env })
      assert.equal(stdout.trim(), '200 Bearer [REDACTED] true true true')
    })
  }

  /** Every way to give a signal, aborted while the head, the body and a person is awaited, after garbage collections. */
  const aborting = `
    import { createAgentClient } from '@sallyport/sdk'
    const [baseUrl, token, grantId, askingGrantId, api] = process.argv.slice(2)
    const agent = createAgentClient({ baseUrl, token })
    let held = 0
    const fetches = { plain: agent.fetch(grantId), asking: agent.fetch(askingGrantId, { onWaiting: () => held++ }) }
    const controllers = []
    const controlled = () => {
      const controller = new AbortController()
      controllers.push(controller)
      return controller.signal
    }
    const signals = {
      controller: controlled,
      timeout: (ms = 1500) => AbortSignal.timeout(ms),
      any: () => AbortSignal.any([controlled(), new AbortController().signal]),
    }
    const ways = {
      init: (fetch, url, signal) => fetch(url, { signal }),
      request: (fetch, url, signal) => fetch(new Request(url, { signal })),
      both: (fetch, url, signal) => fetch(new Request(url), { signal }),
    }
    const stalled = async (answer) => {
      const reader = (await answer).body.getReader()
      await reader.read()
      return reader.read()
    }
    const outcomes = Object.entries(ways).flatMap(([way, start]) =>
      Object.entries(signals).flatMap(([kind, signal]) => [
        [way, kind, 'head', start(fetches.plain, api + '/hang', signal())],
        [way, kind, 'body', stalled(start(fetches.plain, api + '/stall', signal()))],
        [way, kind, 'held', start(fetches.asking, api + '/hang?' + way + kind, signal(8000))],
      ]),
    ).map(async ([way, kind, stage, call]) => {
      const lost = new Promise((resolve) => setTimeout(resolve, 15_000, 'lost').unref())
      const outcome = await Promise.race([call.then(() => 'answered', (error) => error.name), lost])
      return [way, kind, stage, outcome].join(' ')
    })
    for (let turn = 0; turn < 100 && held < 9; turn++) await new Promise((resolve) => setTimeout(resolve, 50))
    for (let turn = 0; turn < 10; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      gc()
    }
    for (const controller of controllers) controller.abort()
    console.log((await Promise.all(outcomes)).join('\\n'))
    console.log('left', (await agent.calls.list({ status: 'waiting' }).all()).length)
    process.exit()`

  for (const major of [20, 24]) {
    test(`keeps a call's signal through garbage collections in Node ${major}`, async (t) => {
      const node = await nodeOf(major)
      if (node === undefined) {
        t.skip(`there is no Node ${major} on this machine`)
        return
      }
      writeFileSync(join(app, 'aborting.mjs'), aborting)
      const asking = await calling.grantAgain({ mode: 'ask_all' })
      const args = [baseUrl, calling.agent.token, calling.grantId, asking, `https://${upstream.host}`]
      const env = { ...process.env, NODE_OPTIONS: '' }
      const { stdout } = await run(node, ['--expose-gc', join(app, 'aborting.mjs'), ...args], { cwd: app, env })
      const outcomes = stdout.trim().split('\n')
      assert.equal(outcomes.pop(), 'left 0', 'a call that was given up can still be approved')
      assert.equal(outcomes.length, 27)
      const wrong = outcomes.filter(
        (line) => !line.endsWith(line.includes(' timeout ') ? 'TimeoutError' : 'AbortError'),
      )
      assert.deepEqual(wrong, [])
      await eventually(() => upstream.waiting === 0, 'the upstream did not hear of every abort')
    })
  }

  test('has self-contained types', () => {
    const main = join(app, 'main.ts')
    writeFileSync(join(app, 'package.json'), '{"type":"module"}')
    writeFileSync(
      main,
      `import { createAgentClient, createUserClient, SallyportError } from '@sallyport/sdk'
       import type { AgentClient, DeviceClient, Grant, LegacyClient, UserClient } from '@sallyport/sdk'
       const agent: AgentClient = createAgentClient({ baseUrl: '', token: '' })
       export const fetched: Promise<Response> = agent.fetch('grt')('https://a.example', { method: 'POST' })
       for await (const grant of agent.grants({ status: 'active' })) {
         const one: Grant = grant
         const hosts: string[] = one.allowed_hosts
         // @ts-expect-error: there is no such member
         void one.no_such_member
         void hosts
       }
       // @ts-expect-error: there is no such status
       void createUserClient().grants.list({ status: 'none' })
       export const isGone = (error: unknown) => error instanceof SallyportError && error.code === 'grant_revoked'
       export type Others = DeviceClient | LegacyClient | UserClient`,
    )
    const program = ts.createProgram([main], {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipDefaultLibCheck: true,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      types: [],
    })
    const complaints = ts.getPreEmitDiagnostics(program).map(({ messageText, file }) => {
      return `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\\n')}`
    })
    assert.deepEqual(complaints, [])
  })

  test('works in a page of the service: with the cookie, a non-extractable key, and as an agent', async () => {
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      await page.route(`${baseUrl}/sdk.js`, (route) => route.fulfill({ path: join(installed, 'dist/index.js') }))
      await page.context().addCookies([{ name: 'svc_session', value: calling.personToken, url: baseUrl }])
      await page.goto(`${baseUrl}/healthz`)
      const result = await page.evaluate(
        async ({ script, origin, token, grantId, api }) => {
          const sdk = (await import(script)) as typeof Sdk
          const user = sdk.createUserClient()
          const key = await sdk.generateDeviceKey()
          const { pairing_code: pairingCode } = await user.devices.createPairingCode()
          const { session_token: sessionToken } = await sdk.pairDevice({ baseUrl: '', pairingCode, key })
          const device = sdk.createDeviceClient({ baseUrl: '', sessionToken, key })
          const agent = sdk.createAgentClient({ baseUrl: origin, token })
          const asked = await agent.requestAccess({ provider: 'acme' })
          const [connection] = await device.connections.list().all()
          const decision = { connection_id: connection?.connection_id ?? '' }
          const grant = await device.accessRequests.approve(asked.access_request_id, decision)
          const { verdict } = await sdk.verifyReceipt(await user.grants.receipt(grant.grant_id))
          const followed = await agent.fetch(grantId)(`${api}/redirect?to=/length`)
          const left = await agent.fetch(grantId)(`${api}/redirect?to=/length`, { redirect: 'manual' })
          const exported = await crypto.subtle
            .exportKey('jwk', key.privateKey)
            .catch((error: unknown) => (error as Error).name)
          return {
            ...{ verdict, exported, text: await followed.text(), path: followed.url.slice(api.length) },
            ...{ redirected: followed.redirected, left: left.status, location: left.headers.get('location') },
          }
        },
        {
          script: '/sdk.js',
          origin: baseUrl,
          token: calling.agent.token,
          grantId: calling.grantId,
          api: `https://${upstream.host}`,
        },
      )
      assert.deepEqual(result, {
        ...{ verdict: 'signed', exported: 'InvalidAccessError', text: 'hello', path: '/length' },
        ...{ redirected: true, left: 302, location: '/length' },
      })
    } finally {
      await browser.close()
    }
  })
})

/** This Node, or one on the PATH. */
async function nodeOf(major: number): Promise<string | undefined> {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  for (const node of [process.execPath, ...folders.map((one) => join(one, 'node'))]) {
    const version = await run(node, ['--version']).catch(() => undefined)
    if (version?.stdout.startsWith(`v${major}.`)) return node
  }
  return undefined
}
