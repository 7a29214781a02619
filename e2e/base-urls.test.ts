/** Unmodified client libraries and programs that are given a base URL, and a key in place of the API's own. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { libraryApis } from './library-apis.ts'
import { libraries } from './library-clients.ts'
import type { Fetch } from './library-clients.ts'
import { succeeded } from './person.ts'
import { eventually, within } from './running-service.ts'
import { startToldUpstream } from './sdk-upstream.ts'
import type { ToldUpstream } from './sdk-upstream.ts'

const accessToken = `upstream-${'k3y'.repeat(10)}`
/** Those that take a base URL with a path, not only a host. What Slack and Linear upload goes to an address in a body, which is the API's own. */
const configurable = ['octokit', 'slack', 'openai', 'anthropic', 'notion', 'linear', 'axios', 'ky', 'undici']
const uploadsElsewhere = ['slack', 'linear']

describe('with a base URL', () => {
  const apis = libraryApis()
  let calling: Calling
  let upstream: ToldUpstream
  let base: string
  let key: string
  const heard: Promise<string>[] = []
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    upstream = await startToldUpstream(scope, apis.answers)
    const tokens = { access_token: accessToken, refresh_token: `refresh-${'k3y'.repeat(10)}` }
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host], tokens })
    const { service, agent, grantId } = calling
    const made = await service.call('POST', '/v4/agents/keys', { token: agent.token, body: { grant_ids: [grantId] } })
    key = succeeded(made).body.key as string
    base = `http://localhost:${service.port}/v4/proxy/${grantId}/${upstream.host}`
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  /** The runtime's own. The libraries send what they were given as a key: `none`. */
  const withKey: Fetch = async (input, init) => {
    const request = new Request(input, init)
    request.headers.set('authorization', `Bearer ${key}`)
    const response = await fetch(request)
    heard.push(Promise.resolve(JSON.stringify([...response.headers])), response.clone().text())
    return response
  }
  const unheard: Fetch = async (input, init) => {
    const request = new Request(input, init)
    request.headers.set('authorization', `Bearer ${key}`)
    return fetch(request)
  }

  for (const name of configurable) {
    const create = libraries[name] ?? assert.fail(name)

    test(`${name} paginates and uploads`, async () => {
      const client = create(withKey, base)
      assert.deepEqual(await client.list(), ['first', 'second'])
      if (!uploadsElsewhere.includes(name)) assert.match(String(await client.upload()), /^hello/)
    })

    test(`${name} streams in chunks, and ends at the API when it gives up`, async () => {
      const { stream, hang } = create(unheard, base)
      const parts: unknown[] = []
      for await (const part of stream ? await stream() : []) {
        parts.push(part)
        // The upstream sends the next chunk only after this.
        upstream.goOn()
      }
      assert.deepEqual(
        parts.map((part) => String(part).trim()),
        stream ? ['Hel', 'lo'] : [],
      )
      const controller = new AbortController()
      const failed = assert.rejects(hang(controller.signal))
      await eventually(() => upstream.waiting === 1, 'the call did not come')
      controller.abort()
      await failed
      await eventually(() => upstream.waiting === 0, 'the upstream did not hear of it')
    })
  }

  test('curl uploads a file that it announces, follows a redirect, and downloads', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'sallyport-curl-')), 'file')
    // From 1 MiB on, curl asks before it sends.
    const bytes = 3 * 1024 * 1024
    writeFileSync(file, Buffer.alloc(bytes, 'a'))
    const curl = async (...args: string[]) => {
      const child = spawn('curl', ['-sS', '--fail-with-body', '-u', `any:${key}`, ...args])
      let out = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
      return { code: await within(ended, 'curl did not end'), out }
    }
    const type = ['-H', 'content-type: application/octet-stream']
    const uploaded = await curl('-T', file, ...type, `${base}/tell`)
    const told = JSON.parse(uploaded.out) as { method: string; hash: string; headers: Record<string, string> }
    const hash = createHash('sha256').update(Buffer.alloc(bytes, 'a')).digest('hex')
    assert.deepEqual([uploaded.code, told.method, told.hash], [0, 'PUT', hash])
    assert.deepEqual([told.headers['content-length'], told.headers['expect']], [String(bytes), undefined])
    const moved = await curl('-L', `${base}/redirect?to=/length`)
    assert.deepEqual(moved, { code: 0, out: 'hello' })
    assert.equal((await curl(`${base}/large`)).out.length, 5_000_000)
    const refused = await curl('-T', file, ...type, `${base}/tell`.replace(upstream.host, 'elsewhere.example'))
    assert.equal(refused.code, 22)
    assert.match(refused.out, /"message":"The grant does not cover this host\."/)
  })

  test('no answer had the credential, and the API saw no key', async () => {
    const texts = await Promise.all(heard)
    assert.ok(texts.length > 40)
    for (const text of texts) assert.ok(!text.includes(accessToken), text.slice(0, 500))
    const seen = new Set(upstream.authorizations)
    assert.deepEqual(seen, new Set([`Bearer ${accessToken}`]))
  })
})
