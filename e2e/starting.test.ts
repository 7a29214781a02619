import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { freePort } from '../server/testkit/ports.ts'
import { startTransit } from '../server/testkit/transit-server.ts'
import { runServer, settingsFor, startService } from './running-service.ts'

/** Listens on the other address of `localhost`; undefined if the machine has none. */
async function listenOnIpv6Loopback(port: number) {
  const server = createServer().listen(port, '::1')
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}

async function statusFrom(address: string, port: number): Promise<number | undefined> {
  const [response] = await once(get({ host: address, port, path: '/healthz', agent: false }), 'response')
  response.resume()
  return response.statusCode as number | undefined
}

/** The arguments or the environment of a process, with a zero byte after each. */
function startedWith(pid: number, what: 'cmdline' | 'environ'): string {
  return readFileSync(`/proc/${pid}/${what}`, 'utf8')
}

describe('a start', { concurrency: 2 }, () => {
  test('listens on both addresses of localhost, so that no other program gets its sign-in link', async (t) => {
    const service = await startService(t, 'sqlite')
    const other = await listenOnIpv6Loopback(await freePort())
    if (!other) {
      t.skip('this machine has no IPv6')
      return
    }
    other.close()
    assert.equal(await statusFrom('127.0.0.1', service.port), 200)
    assert.equal(await statusFrom('::1', service.port), 200)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
  })

  test('is refused if another program listens on the other address of localhost', async (t) => {
    const settings = await settingsFor(t, 'sqlite')
    const other = await listenOnIpv6Loopback(Number(settings['PORT']))
    if (!other) {
      t.skip('this machine has no IPv6')
      return
    }
    t.after(() => other.close())
    for (const host of ['127.0.0.1', 'localhost']) {
      const { code, stdout, stderr } = await runServer(t, [], { ...settings, HOST: host })
      assert.equal(code, 1)
      assert.match(stderr, /Port \d+ is in use\./)
      assert.ok(!stdout.includes('login_token'))
    }
  })

  test('has Vault decrypt the master key, and is refused while Vault is sealed', async (t) => {
    const transit = await startTransit(t)
    // Node's own variables for proxies must not lead the token elsewhere.
    const proxied = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1' }
    const settings = { ...transit.settingsFor(randomBytes(32).toString('base64')), ...proxied }
    const service = await startService(t, 'sqlite', settings)
    assert.equal((await service.call('GET', '/readyz')).status, 200)
    await service.stop()
    assert.ok(!existsSync(join(service.dataDir, 'master-key')))
    transit.fault = 'sealed'
    for (const command of [[], ['doctor']]) {
      const { code, stdout, stderr } = await runServer(t, command, service.env)
      assert.equal(code, 1)
      assert.match(stdout + stderr, /Vault \(127\.0\.0\.1:\d+\) answered 503\. It is sealed/)
    }
    transit.fault = undefined
    await service.startAgain()
    assert.equal((await service.call('GET', '/readyz')).status, 200)
  })

  test('serves the reference with all its assets from the build', async (t) => {
    const { port } = await startService(t, 'sqlite')
    const base = `http://localhost:${port}/docs`
    const page = await (await fetch(base)).text()
    const parts = [...page.matchAll(/(?:src|href)="([^"]+\.(?:js|css|svg))"/g)].map(([, part = '']) => part)
    assert.ok(parts.some((part) => part.endsWith('openapi-explorer.js')))
    for (const part of parts) {
      const answer = await fetch(new URL(part, base))
      assert.equal(answer.status, 200, part)
      assert.ok((await answer.text()).length > 100, part)
    }
  })

  test('continues without a link after an admin disabled the owner', async (t) => {
    const service = await startService(t, 'sqlite')
    const token = service.adminToken
    const { users } = (await service.call('GET', '/v4/users', { token })).body
    assert.equal((await service.call('POST', `/v4/users/${users[0].user_id}/disable`, { token })).status, 200)
    await service.stop()
    await service.startAgain()
    assert.ok(!service.stdout.includes('login_token'))
    assert.equal((await service.call('GET', '/readyz')).status, 200)
  })

  test('behind a proxy on the same machine prints no link without a terminal', async (t) => {
    const service = await startService(t, 'sqlite', { SALLYPORT_BASE_URL: 'https://sallyport.example.com' })
    assert.ok(!service.stdout.includes('login_token'))
  })

  test('with the metrics port in use is refused before it reports ready', async (t) => {
    const taken = await settingsFor(t, 'sqlite')
    const other = createServer().listen(0, '127.0.0.1')
    t.after(() => other.close())
    await once(other, 'listening')
    const ports: [string, RegExp][] = [
      [taken['PORT'] ?? '', /^Setting: SALLYPORT_METRICS_PORT: got "\d+"; expected a different port than PORT\.\n$/],
      [String((other.address() as { port: number }).port), /Port \d+ is in use\..*\n$/],
    ]
    for (const [port, words] of ports) {
      const { code, stdout, stderr } = await runServer(t, [], { ...taken, SALLYPORT_METRICS_PORT: port })
      assert.equal(code, 1)
      assert.equal(stdout, '')
      assert.match(stderr, words)
      assert.ok(!/\n {4}at /.test(stderr), stderr)
    }
  })

  test('keeps the young generation small and returns freed memory, unless configured otherwise', async (t) => {
    if (process.platform !== 'linux') {
      t.skip('needs /proc')
      return
    }
    const { pid } = await startService(t, 'sqlite')
    assert.match(startedWith(pid, 'cmdline'), /\0--max-semi-space-size=8\0/)
    assert.match(startedWith(pid, 'environ'), /(?:^|\0)MALLOC_MMAP_THRESHOLD_=32768\0/)
    assert.match(startedWith(pid, 'environ'), /(?:^|\0)MALLOC_TOP_PAD_=4096\0/)
    assert.match(startedWith(pid, 'environ'), /(?:^|\0)MALLOC_ARENA_MAX=1\0/)
    const settings = { NODE_OPTIONS: '--max-semi-space-size=32', MALLOC_MMAP_THRESHOLD_: '131072' }
    const told = await startService(t, 'sqlite', settings)
    assert.ok(!startedWith(told.pid, 'cmdline').includes('semi-space'))
    assert.match(startedWith(told.pid, 'environ'), /(?:^|\0)MALLOC_MMAP_THRESHOLD_=131072\0/)
  })
})
