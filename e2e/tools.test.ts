/**
 * Real tools in `sallyport run`, none of them made for it: with a grant they work and never see the credential, without one
 * they are refused, and what a person has to approve is done once.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readsProxies } from '../cli/src/run/node-version.ts'
import { findProgram, isProgram } from '../server/testkit/programs.ts'
import { findPython } from '../server/testkit/python.ts'
import { leftOf, secretForms } from '../server/testkit/secret-forms.ts'
import type { Ended, Running } from './command-line.ts'
import { succeeded } from './person.ts'
import { carelessApi, credentialIn, echo, github, objectStore, registries, together } from './tool-sites.ts'
import { newKey, sharedToolWorld } from './tool-world.ts'
import type { Agent, Site } from './tool-world.ts'
import { apiHost, bucketHost, closedHost, indexHost, region, tools, webSocketClients } from './tools.ts'
import type { Provider, Tool } from './tools.ts'

const isLong = process.env['TEST_LONG_FORM'] === '1'
const awsSecrets = new Map<string, string>()
const store = objectStore(region, (id) => awsSecrets.get(id))
store.objects.set('/welcome', Buffer.from('hello from S3\n'))
const api = carelessApi()
const sites: Site[] = []
let closed: Site
let python: Record<string, string>

const world = sharedToolWorld(async ({ serve, addApi }) => {
  python = { PYTHON: (await findPython('requests, httpx')) ?? '', PIP: (await findPython('pip')) ?? '' }
  closed = await serve([closedHost], api.answer)
  sites.push(await serve([apiHost], api.answer, echo))
  sites.push(await serve(['github.com', 'api.github.com'], github()))
  sites.push(await serve([bucketHost, 'sts.us-east-1.amazonaws.com'], store.answer))
  sites.push(await serve(['registry.npmjs.org', 'pypi.org', indexHost], registries()))
  await addApi('acme', [apiHost], newKey())
  await addApi('packages', [indexHost], newKey())
})

interface Account {
  grantId: string
  secret: string
  /** Whether an upstream's request is of this account. */
  isIn: (request: Site['seen'][number]) => boolean
}

interface Workplace extends Omit<Agent, 'start'> {
  accounts: Account[]
  /** The folder of its tools. */
  work: string
  /** Runs these lines in a shell, with all its grants. Other hosts are denied. */
  start: (lines: string, options?: { env?: Record<string, string>; otherHosts?: 'allow' }) => Running
}

/** An agent with a grant at each of these providers, for accounts of its own. */
async function workplace(
  providers: Provider[],
  { terms = {}, files = {} }: { terms?: object; files?: Tool['files'] } = {},
): Promise<Workplace> {
  const agent = await world().agent({ hasProfile: false })
  const accounts: Account[] = []
  for (const provider of providers) {
    const secret = newKey()
    const keyId = `AKIA${secret.slice(5, 21).toUpperCase()}`
    const isAws = provider === 'aws'
    if (isAws) awsSecrets.set(keyId, secret)
    const credential = isAws ? { access_key_id: keyId, secret_access_key: secret } : { api_key: secret }
    const connectionId = await world().connect(provider, credential, provider === 'github' ? 'api_key' : undefined)
    const grantId = await agent.grant(provider, connectionId, {
      ...(isAws && { allowed_hosts: [bucketHost] }),
      ...terms,
    })
    accounts.push({ grantId, secret, isIn: (request) => credentialIn(request).includes(isAws ? keyId : secret) })
  }
  const work = join(agent.cli.home, 'work')
  mkdirSync(work)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(work, name), text)
  return {
    ...agent,
    ...{ accounts, work },
    start: (lines, { env = {}, otherHosts = 'deny' } = {}) => {
      writeFileSync(join(work, 'lines.sh'), lines)
      const all = { CLONE: import.meta.filename, ...python, ...env }
      return agent.start(['run', '--other-hosts', otherHosts, '--', 'sh', 'lines.sh'], { env: all, cwd: work })
    },
  }
}

/** The steps, each with its output and exit code. */
function inSteps(steps: Record<string, string>): string {
  const all = Object.entries(steps).map(([name, line]) => `echo '== ${name}'\n(${line})\nprintf '\\nexit %s\\n' $?\n`)
  return all.join('')
}

function readSteps({ stdout }: Pick<Ended, 'stdout'>): Record<string, { text: string; exit: string }> {
  const parts = stdout.split(/^== (\w+)\n/m).slice(1)
  const names = parts.filter((_, index) => index % 2 === 0)
  return Object.fromEntries(
    names.map((name, index) => {
      const [, text = '', exit = ''] = /^([^]*)\nexit (\d+)$/m.exec(parts[2 * index + 1] ?? '') ?? []
      return [name, { text, exit }]
    }),
  )
}

/** Requests that the sites got with one of its credentials, as the record of calls names them. */
function reached({ accounts }: Workplace): string[] {
  const requests = sites.flatMap(({ seen }) => seen).filter((request) => accounts.some(({ isIn }) => isIn(request)))
  return requests.map(({ method, url }) => `${method} ${url.split('?')[0] ?? ''}`)
}

async function recorded({ token }: Pick<Agent, 'token'>): Promise<string[]> {
  const { body } = await world().call('GET', '/v4/audit?event=proxy.attempt&limit=200', { token })
  const { records } = body as { records: { detail: { door: string; method: string; path: string } }[] }
  return records.flatMap(({ detail: { door, method, path } }) => (door === 'gateway' ? [`${method} ${path}`] : []))
}

/** Connecting an account has shown its credential to the provider, before the agent had any. */
function afterwards(place: Workplace): () => string[] {
  const before = reached(place).length
  return () => reached(place).slice(before)
}

/** Nothing that the tools have printed or stored has a credential, in any form. */
function assertUnseen({ accounts, work }: Workplace, { bytes, stderr }: Ended): void {
  const files = readdirSync(work, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const texts = files.map((entry) => readFileSync(join(entry.parentPath, entry.name)))
  const all = Buffer.concat([bytes, Buffer.from(stderr), ...texts])
  for (const { secret } of accounts) {
    for (const form of secretForms) assert.equal(leftOf(all, form, secret), undefined, form.name)
  }
}

function missing({ needs }: Tool): string | false {
  return needs === undefined || findProgram([needs]) !== undefined ? false : `${needs} is not installed`
}

function isOldNode(path: string): boolean {
  return isProgram(path) && !readsProxies(execFileSync(path, ['--version'], { encoding: 'utf8' }).trim())
}

const named = (name: string) => tools.find((tool) => tool.name === name) ?? assert.fail(name)
const everything = 'env; cat /proc/self/environ; find "$(dirname "$SSL_CERT_FILE")" -type f -exec cat {} +'

describe('with sallyport run', { concurrency: 3 }, () => {
  for (const tool of tools.filter(({ isDear = false }) => isLong || !isDear)) {
    const { name, provider, files, env = {}, read, refused, write } = tool
    const does = 'works with a grant and is refused without'
    const changes = write === undefined ? '' : ', and changes something once, when a person has approved it'
    test(`${name} ${does}${changes}`, { skip: missing(tool) }, async () => {
      const place = await workplace([provider], { terms: { mode: 'ask_writes' }, files })
      const seen = afterwards(place)
      if (tool.prepare !== undefined) execFileSync('sh', ['-c', tool.prepare], { cwd: place.work })
      const lines = inSteps({ read, refused, ...(write !== undefined && { write }), everything })
      const running = place.start(lines, { env })
      if (write !== undefined) await decide(place, running, 'approve')
      const ended = await running.ended
      const steps = readSteps(ended)
      assert.equal(steps['read']?.exit, '0', ended.stderr)
      assert.match(steps['read'].text, tool.shows)
      assert.notEqual(steps['refused']?.exit, '0')
      const sentence = `sallyport: no grant of this run covers ${closedHost}, and other hosts are denied`
      assert.ok(ended.stderr.split('\n').includes(sentence), ended.stderr)
      assert.deepEqual(closed.seen, [])
      if (write !== undefined) assert.equal(steps['write']?.exit, '0', ended.stderr)
      const writes = seen().filter((line) => tool.wrote?.test(line))
      assert.equal(writes.length, write === undefined ? 0 : 1)
      assert.deepEqual((await recorded(place)).sort(), seen().sort())
      assertUnseen(place, ended)
    })
  }

  test('server-sent events arrive one by one', async () => {
    const streaming = tools.filter(({ stream }) => stream !== undefined)
    const files = Object.assign({}, ...streaming.map((tool) => tool.files)) as Record<string, string>
    const place = await workplace(['acme'], { files })
    const running = place.start(streaming.map(({ stream }) => stream).join('\n'))
    for (const [index] of streaming.entries()) {
      await running.until(new RegExp(`(?:data: first Bearer \\[REDACTED\\][^]*){${index + 1}}`))
      api.goOn()
    }
    const ended = await running.ended
    assert.deepEqual([ended.code, ended.stdout.match(/data: second/g)?.length], [0, streaming.length], ended.stderr)
    assertUnseen(place, ended)
  })

  for (const { name, files = {}, read } of webSocketClients.filter(({ isDear = false }) => isLong || !isDear)) {
    test(`a WebSocket of ${name} carries messages both ways`, async () => {
      const place = await workplace(['acme'], { files })
      const ended = await place.start(read).ended
      assert.deepEqual(
        ended.stdout.trim().split('\n'),
        ['hello Bearer [REDACTED]', 'ping', 'closed 1000 done'],
        ended.stderr,
      )
      assert.deepEqual(await recorded(place), ['GET /echo'])
      assertUnseen(place, ended)
    })
  }

  test('HTTP/2 carries many calls at once in one tunnel', async () => {
    const place = await workplace(['acme'])
    const urls = Array.from({ length: together }, (_, n) => `-o ${n} https://${apiHost}/together?${n}`).join(' ')
    const running = place.start(`curl -sS --parallel --http2 -w '%{http_version} %{num_connects}\\n' ${urls}`)
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    const connects = ended.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' '))
    assert.deepEqual(new Set(connects.map(([version]) => version)), new Set(['2']))
    assert.equal(
      connects.reduce((sum, [, count]) => sum + Number(count), 0),
      1,
    )
    for (let n = 0; n < together; n++) {
      assert.match(readFileSync(join(place.work, String(n)), 'utf8'), new RegExp(`"url":"/together\\?${n}"`))
    }
    assert.equal((await recorded(place)).length, together)
    assertUnseen(place, ended)
  })

  test('aws copies a large file to S3 and back', { skip: missing(named('aws')) }, async () => {
    const place = await workplace(['aws'])
    const content = randomBytes((isLong ? 100 : 12) * 1024 * 1024)
    writeFileSync(join(place.work, 'large'), content)
    const copy = (from: string, to: string) => `aws s3 cp ${from} ${to} --region ${region} --no-progress`
    const running = place.start(`${copy('large', 's3://ada-bucket/large')} && ${copy('s3://ada-bucket/large', 'back')}`)
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.ok(store.objects.get('/large')?.equals(content))
    assert.ok(readFileSync(join(place.work, 'back')).equals(content))
    assert.deepEqual(store.refused, [])
    // In parts, both ways.
    for (const method of ['PUT', 'GET'])
      assert.ok(reached(place).filter((line) => line === `${method} /large`).length > 1)
    const { secret } = place.accounts[0] ?? assert.fail()
    assert.ok(!`${ended.stdout}${ended.stderr}`.includes(secret))
  })

  test('npm and pip reach hosts without a grant directly, with no credential', async () => {
    const { env = {} } = named('pip')
    const place = await workplace(['acme'], { files: { 'package.json': '{}' } })
    const lines = inSteps({
      npm: 'npm install tiny --no-audit --no-fund --fetch-retries 0',
      pip: '$PIP -m pip download tiny --no-deps --index-url https://pypi.org/simple',
    })
    const ended = await place.start(lines, { env, otherHosts: 'allow' }).ended
    const { npm, pip } = readSteps(ended)
    assert.deepEqual([npm?.exit, pip?.exit], ['0', '0'], ended.stderr)
    const [, , , registry] = sites
    const direct = registry?.seen.filter(({ headers }) => headers.authorization === undefined) ?? []
    const asked = new Set(direct.map(({ headers, url }) => `${headers.host} ${url}`))
    for (const what of ['registry.npmjs.org /tiny', 'pypi.org /simple/tiny/']) assert.ok(asked.has(what), what)
    assert.deepEqual([reached(place), await recorded(place)], [[], []])
  })

  const oldNode = ['/usr/bin/node', '/usr/local/bin/node'].find(isOldNode)
  test(
    'an older Node is warned about, and reaches nothing by itself',
    { skip: oldNode === undefined || !isLong },
    async () => {
      const [fetching, axios] = [named('Node fetch'), named('axios')]
      const place = await workplace(['acme'], { files: { ...fetching.files, ...axios.files } })
      const url = `https://${apiHost}/old`
      const options = { cwd: place.work, env: { CLONE: import.meta.filename } }
      const fetched = await place.run(['run', '--', oldNode ?? '', 'Node-fetch.mjs', 'GET', url], options)
      assert.notEqual(fetched.code, 0)
      assert.match(fetched.stderr, /^sallyport: Node v[\d.]+ ignores HTTPS_PROXY, which needs 22\.21, 24\.5 or newer/m)
      assert.deepEqual(await recorded(place), [])
      const sent = await place.run(['run', '--', oldNode ?? '', 'axios.mjs', 'GET', url], options)
      assert.deepEqual([sent.code, await recorded(place)], [0, ['GET /old']], sent.stderr)
    },
  )

  test('what a person denies is not done, and said on the terminal', async () => {
    const place = await workplace(['acme'], { terms: { mode: 'ask_writes' } })
    const running = place.start(named('curl').write ?? '')
    await decide(place, running, 'deny')
    const ended = await running.ended
    assert.match(ended.stdout, /"code":"call_denied"/)
    assert.ok(
      ended.stderr.split('\n').includes(`sallyport: a person denied POST https://${apiHost}/curl`),
      ended.stderr,
    )
    assert.deepEqual([reached(place), await recorded(place)], [[], []])
  })

  test('what the service refuses is said in the words of each tool, or on the terminal', async () => {
    const place = await workplace(['acme', 'github', 'aws'], {
      terms: { max_access: 'read' },
      files: { file: 'hello' },
    })
    const [curl, git, gh] = [named('curl'), named('git'), named('gh')]
    const words = /The grant allows only calls that read \(max_access\)/
    const shown: Record<string, [line: string | undefined, shows: RegExp]> = {
      curl: [curl.write, words],
      git: [`${git.read} && ${git.write} 2>&1`, /^remote: Sallyport: The grant allows only calls that read/m],
      ...(isLong && { aws: [`${named('aws').write} 2>&1`, words] }),
      ...(isLong && { gh: [`${gh.write} 2>&1`, /^.*gh: The grant allows only calls that read .* \(HTTP 403\)$/m] }),
    }
    const writes = Object.fromEntries(Object.entries(shown).map(([name, [line = '']]) => [name, line]))
    const reads = { curl: curl.read, git: 'git -C things fetch', ...(isLong && { gh: gh.read }) }
    const wait = 'echo waits; i=0; while [ ! -e go ] && [ $i -lt 600 ]; do i=$((i+1)); sleep 0.05; done'
    const running = place.start(`${inSteps(writes)}\n${wait}\n${inSteps(reads)}`)
    const refused = readSteps({ stdout: await running.until(/^waits$/m) })
    for (const [name, [, shows]] of Object.entries(shown)) assert.match(refused[name]?.text ?? '', shows)
    for (const { grantId } of place.accounts) {
      succeeded(await world().call('POST', `/v4/grants/${grantId}/revoke`, { token: world().personToken, body: {} }))
    }
    writeFileSync(join(place.work, 'go'), '')
    const ended = await running.ended
    const left = Object.values(readSteps({ stdout: ended.stdout.split('\nwaits\n')[1] ?? '' })).map(({ exit }) => exit)
    assert.deepEqual([left.length, left.includes('0')], [Object.keys(reads).length, false])
    const sentence = 'The grant was revoked. Request access again.'
    // gh's connection is the run's own and may still be open: then it is told inside.
    for (const said of [`sallyport: ${apiHost}: ${sentence}`, `sallyport: github.com: ${sentence}`]) {
      assert.ok(ended.stderr.split('\n').includes(said), ended.stderr)
    }
    if (isLong) assert.ok(ended.stderr.split('\n').includes(`gh: ${sentence} (HTTP 403)`), ended.stderr)
    assertUnseen(place, ended)
  })
})

/** Waits for the one call that asks, which is announced on the terminal, and decides on it. */
async function decide({ token }: Pick<Agent, 'token'>, running: Running, verdict: 'approve' | 'deny'): Promise<void> {
  await running.until(/^sallyport: a person has to approve /m)
  const { calls } = (await world().call('GET', '/v4/calls?status=waiting', { token })).body
  assert.equal(calls.length, 1)
  const path = `/v4/calls/${calls[0].call_id}/${verdict}`
  succeeded(await world().call('POST', path, { token: world().personToken, body: {} }))
}
