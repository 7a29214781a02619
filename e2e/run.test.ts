/** `sallyport run` as its own process, around small programs: environment, signals, exit codes, and its end. */
import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { newKey, sharedToolWorld } from './tool-world.ts'
import type { Agent, Site } from './tool-world.ts'

const host = 'api.acme.example'
const apiKey = newKey()
let connectionId: string
let site: Site

/** Says what it got, with the credential in it. */
const echo: RequestListener = (request, response) => {
  void buffer(request).then((body) => {
    const { method, url, headers } = request
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ method, url, authorization: headers.authorization, bytes: body.length }))
  })
}

const world = sharedToolWorld(async ({ serve, addApi }) => {
  site = await serve([host], echo)
  connectionId = await addApi('acme', [host], apiKey)
})

/** An agent with a grant, and what its command sees. */
async function withGrant(terms: object = {}): Promise<Agent & { grantId: string }> {
  const agent = await world().agent()
  return { ...agent, grantId: await agent.grant('acme', connectionId, terms) }
}

const sh = (script: string) => ['run', '--', 'sh', '-c', script]

/** Waits for a file in the home folder, but not for ever: it outlives a test that fails. */
const untilGo = 'i=0; while [ ! -e go ] && [ $i -lt 400 ]; do i=$((i+1)); sleep 0.05; done'

/** Keys for tools that the agent still has. */
async function keysOf({ token }: Agent): Promise<{ key_id: string; expires_at: string }[]> {
  return (await world().call('GET', '/v4/agents/keys', { token })).body.keys
}

describe('sallyport run', () => {
  test('a program that knows nothing of it gets an answer, with the credential put in and redacted', async () => {
    const { run, token, grantId } = await withGrant()
    const { code, stdout, stderr } = await run(['run', '--', 'curl', '-sS', `https://${host}/items?a=1`])
    assert.deepEqual([code, stderr], [0, ''])
    assert.deepEqual(JSON.parse(stdout), {
      method: 'GET',
      url: '/items?a=1',
      authorization: 'Bearer [REDACTED]',
      bytes: 0,
    })
    assert.equal(site.seen.at(-1)?.headers.authorization, `Bearer ${apiKey}`)
    const { records } = (await world().call('GET', '/v4/audit?event=proxy.attempt', { token })).body
    assert.deepEqual([records.length, records[0].grant_id], [1, grantId])
    assert.ok(!Object.keys(site.seen.at(-1)?.headers ?? {}).some((name) => /proxy|sallyport/.test(name)))
  })

  test('its command sees no secret of ours but the credential for loopback', async () => {
    const agent = await withGrant()
    const script = `
      env; cat /proc/self/environ /proc/self/cmdline; ls -l /proc/self/fd
      find "$(dirname "$SSL_CERT_FILE")" -type f -exec cat {} +`
    const { code, stdout } = await agent.run(sh(script), { env: { SALLYPORT_AGENT_TOKEN: agent.token } })
    assert.equal(code, 0)
    assert.doesNotMatch(stdout, /sp_(?:key|agent|admin|session)_|SALLYPORT_/)
    assert.ok(!stdout.includes(apiKey))
    const [, credential = ''] = /^HTTPS_PROXY=http:\/\/run:([\w-]{43})@127\.0\.0\.1:\d+$/m.exec(stdout) ?? []
    assert.notEqual(credential, '')
    assert.match(stdout, /BEGIN CERTIFICATE/)
    assert.doesNotMatch(stdout, /PRIVATE KEY/)
  })

  test('exits as the command does', async () => {
    const { run } = await withGrant()
    assert.equal((await run(sh('exit 7'))).code, 7)
    const killed = await run(sh('kill -KILL $$'))
    assert.equal(killed.code, null, 'by the signal that ended the command')
    const aborted = await run(sh('kill -ABRT $$'))
    assert.equal(aborted.code, 128 + 6, 'without a core file of its own')
  })

  test('names a command that is missing or is none, before it asks anybody', async () => {
    const agent = await world().agent()
    const missing = await agent.run(['run', '--request', 'acme', '--', 'no-such-tool', '-x'])
    assert.deepEqual(
      [missing.code, missing.stderr],
      [127, 'sallyport: command_not_found: no-such-tool: command not found\nIt is in no folder of PATH.\n'],
    )
    const file = join(agent.cli.home, 'notes.txt')
    writeFileSync(file, 'text')
    const plain = await agent.run(['run', '--', file])
    assert.deepEqual(
      [plain.code, plain.stderr],
      [126, `sallyport: command_not_executable: ${file} can't be executed (EACCES)\n`],
    )
    assert.equal((await agent.run(['run'])).code, 2)
    const swapped = await agent.run(['run', 'curl', 'https://x.example'])
    assert.deepEqual(
      [swapped.code, swapped.stderr],
      [2, 'sallyport: write -- before the command: sallyport run -- curl https://x.example\n'],
    )
  })

  test('an agent without a grant is told how to ask', async () => {
    const agent = await world().agent()
    for (const words of [[], ['--provider', 'acme']]) {
      const { code, stderr } = await agent.run(['run', ...words, '--', 'true'])
      assert.equal(code, 4)
      assert.match(stderr, /no_grant: this agent has no active grant.*\nAsk for one: sallyport run --request /)
    }
    const unknown = await agent.run(['run', '--grant', 'grt_01k9x3v7qmf5v8t2w4y6z8abcd', '--', 'true'])
    assert.match(unknown.stderr, /grt_01k9x3v7qmf5v8t2w4y6z8abcd is no active grant of this agent/)
  })
})

describe('the end of a run', () => {
  test('takes the key, the listener and the folder with it', async () => {
    const agent = await withGrant()
    const { stdout } = await agent.run(sh('echo "$HTTPS_PROXY"; dirname "$SSL_CERT_FILE"'))
    const [proxy = '', folder = ''] = stdout.trim().split('\n')
    assert.deepEqual([existsSync(folder), await keysOf(agent)], [false, []])
    const late = await agent.run(['run', '--', 'curl', '-sS', '-x', proxy, `https://${host}/`])
    assert.equal(late.code, 7, late.stderr)
  })

  test('comes with each signal, as the command takes it', async () => {
    const agent = await withGrant()
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1'] as const) {
      const script = `trap 'echo got; exit 5' ${signal.slice(3)}; dirname "$SSL_CERT_FILE"; echo up; ${untilGo}`
      const running = agent.start(sh(script))
      const folder = (await running.until(/up\n/)).split('\n')[0] ?? ''
      assert.equal(statSync(folder).mode & 0o777, 0o700)
      running.signal(signal)
      const { code, stdout } = await running.ended
      assert.deepEqual([code, /got/.test(stdout), existsSync(folder)], [5, true, false], signal)
    }
    assert.deepEqual(await keysOf(agent), [])
  })

  test('waits for a command that ignores SIGTERM, which keeps its connection', async () => {
    const agent = await withGrant()
    const script = `trap 'echo ignored' TERM; echo $$; echo up; ${untilGo}; curl -sS https://${host}/; kill -KILL $$`
    const running = agent.start(sh(script))
    await running.until(/up\n/)
    running.signal('SIGTERM')
    await running.until(/ignored/)
    writeFileSync(join(agent.cli.home, 'go'), '')
    const { code, stdout } = await running.ended
    assert.equal(code, null)
    assert.match(stdout, /\[REDACTED\]/)
    assert.deepEqual(await keysOf(agent), [])
  })

  test('a SIGKILL leaves a key that expires and a folder that nobody else can read', async () => {
    const agent = await withGrant()
    const running = agent.start(sh('echo $$; dirname "$SSL_CERT_FILE"; echo "$HTTPS_PROXY"; echo up; exec sleep 20'))
    const [child = '', folder = '', proxy = ''] = (await running.until(/up\n/)).split('\n')
    process.kill(running.pid, 'SIGKILL')
    process.kill(Number(child), 'SIGKILL')
    await running.ended
    const [key] = await keysOf(agent)
    const left = Date.parse(key?.expires_at ?? '') - Date.now()
    assert.ok(left > 0 && left <= 3 * 3600 * 1000)
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    const late = await agent.run(['run', '--', 'curl', '-sS', '-x', proxy, `https://${host}/`])
    assert.equal(late.code, 7, 'nobody listens any more')
  })
})

describe('on a terminal', () => {
  test('Ctrl-C reaches the command once, and the command has the terminal', async () => {
    const agent = await withGrant()
    const script = `test -t 0 && test -t 1 && echo terminal; n=0; trap 'n=$((n+1)); echo "got $n"' INT; echo up; ${untilGo}; echo "in all $n"`
    const running = agent.cli.startInTerminal(sh(script), { nodeOptions: [] })
    await running.until(/terminal[^]*up/)
    running.type('\u0003')
    await running.until(/got 1/)
    writeFileSync(join(agent.cli.home, 'go'), '')
    const { code, stdout } = await running.ended
    assert.equal(code, 0)
    assert.match(stdout, /in all 1\r/)
  })

  test('Ctrl-Z stops it with the command, also one that stops by itself, and fg goes on', async () => {
    const agent = await withGrant()
    const shell = agent.startShell()
    shell.type(`sallyport run -- sh -c 'echo up; ${untilGo}; echo "on"; kill -STOP $$; echo "at the end"'\n`)
    await shell.until(/\rup\r/)
    shell.type('\u001a')
    await shell.until(/Stopped +sallyport run/)
    writeFileSync(join(agent.cli.home, 'go'), '')
    shell.type('fg\n')
    await shell.until(/\non\r/)
    await shell.until(/\non\r[^]*Stopped +sallyport run/)
    shell.type('fg\n')
    await shell.until(/\nat the end\r/)
    shell.type('exit 3\n')
    assert.equal((await shell.ended).code, 3)
    assert.deepEqual(await keysOf(agent), [])
  })
})
