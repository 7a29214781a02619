/**
 * Unmodified client libraries, each with the SDK's fetch in place of the usual one.
 * The results are documented in docs/sdk.md for each library.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createAgentClient } from '@sallyport/sdk'
import type { AgentClient, SallyportError } from '@sallyport/sdk'
import { fetch as undiciFetch } from 'undici'
import { findPython } from '../server/testkit/python.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { libraryApis } from './library-apis.ts'
import { libraries } from './library-clients.ts'
import type { Fetch } from './library-clients.ts'
import { eventually } from './running-service.ts'
import { startToldUpstream } from './sdk-upstream.ts'
import type { ToldUpstream } from './sdk-upstream.ts'

const accessToken = `upstream-${'k3y'.repeat(10)}`
const root = resolve(import.meta.dirname, '..')
const page = readFileSync(new URL('../docs/sdk.md', import.meta.url), 'utf8')

/** Libraries that retry an API's 429 by themselves; the others report it. */
const repeatsAfter429 = ['slack', 'googleapis', 'openai', 'anthropic', 'notion', 'ky']
/** The error that a library throws for a refused call. */
const refusedAs: Record<string, string> = {
  octokit: 'RequestError',
  slack: 'WebAPIPlatformError',
  googleapis: 'GaxiosError',
  openai: 'PermissionDeniedError',
  anthropic: 'PermissionDeniedError',
  stripe: 'StripePermissionError',
  notion: 'UnknownHTTPResponseError',
  linear: 'Error',
  axios: 'AxiosError',
  ky: 'HTTPError',
  undici: 'Error',
}
const inFlight = 6
const settings = { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: String(inFlight) }
/** Slack's library retries everything but 200, so an error has to look like one of Slack's. */
const slackRefusal = ({ code }: SallyportError) => Response.json({ ok: false, error: code })

describe('unmodified', () => {
  const apis = libraryApis()
  let calling: Calling
  let upstream: ToldUpstream
  let api: string
  let agent: AgentClient
  /** Everything that was returned to a library. */
  const heard: Promise<string>[] = []
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    upstream = await startToldUpstream(scope, apis.answers)
    const tokens = { access_token: accessToken, refresh_token: `refresh-${'k3y'.repeat(10)}` }
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host], tokens, settings })
    api = `https://${upstream.host}`
    agent = createAgentClient({ baseUrl: `http://localhost:${calling.service.port}`, token: calling.agent.token })
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  const fetchFor = (name: string): Fetch => {
    const baseUrl = `http://localhost:${calling.service.port}`
    const by =
      name === 'undici'
        ? createAgentClient({ baseUrl, token: calling.agent.token, fetch: undiciFetch as unknown as Fetch })
        : agent
    return by.fetch(calling.grantId, name === 'slack' ? { onRefusal: slackRefusal } : {})
  }
  const watched =
    (fetch: Fetch): Fetch =>
    async (...call) => {
      const response = await fetch(...call)
      heard.push(Promise.resolve(JSON.stringify([...response.headers])), response.clone().text())
      return response
    }

  for (const [name, create] of Object.entries(libraries)) {
    const library = (at = api) => create(fetchFor(name), at)

    test(`${name} paginates and uploads`, async () => {
      const client = create(watched(fetchFor(name)), api)
      assert.deepEqual(await client.list(), ['first', 'second'])
      assert.match(String(await client.upload()), /^hello/)
    })

    test(`${name} streams in chunks`, async (t) => {
      const { stream } = library()
      if (!stream) {
        t.diagnostic('Its API has no streams.')
        return
      }
      const parts: unknown[] = []
      for await (const part of await stream()) {
        parts.push(part)
        // The upstream sends the next chunk only after this.
        upstream.goOn()
      }
      assert.deepEqual(
        parts.map((part) => String(part).trim()),
        ['Hel', 'lo'],
      )
    })

    test(`${name} aborts a call, which aborts at the upstream too`, async () => {
      const controller = new AbortController()
      const hanging = library().hang(controller.signal)
      const failed = assert.rejects(hanging)
      await eventually(() => upstream.waiting === 1, 'the call did not come')
      controller.abort()
      await failed
      await eventually(() => upstream.waiting === 0, 'the upstream did not hear of it')
    })

    test(`${name} reports an error of the service immediately, with its code`, async () => {
      let calls = 0
      const counted: Fetch = (...call) => {
        calls++
        return fetchFor(name)(...call)
      }
      const error: unknown = await create(counted, 'https://elsewhere.example')
        .list()
        .catch((reason: unknown) => reason)
      assert.ok(error instanceof Error, String(error))
      assert.match(everythingIn(error), /host_not_allowed|does not cover this host/)
      assert.equal(error.constructor.name, refusedAs[name])
      assert.equal(calls, 1)
    })

    test(`${name} handles the API's 429 in its own way`, async () => {
      const place = name === 'googleapis' ? 'drive' : name
      const before = apis.calls(place)
      apis.limit(place)
      const outcome = await library()
        .list()
        .catch((reason: unknown) => reason)
      if (repeatsAfter429.includes(name)) {
        assert.deepEqual([outcome, apis.calls(place) - before], [['first', 'second'], 3])
      } else {
        assert.ok(outcome instanceof Error)
        assert.match(everythingIn(outcome), /429/)
        assert.equal(apis.calls(place) - before, 1)
      }
    })
  }

  /** A program in another language or runtime that prints each of its steps. */
  const stepsOf = async (command: string, args: string[]): Promise<Record<string, unknown>> => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const parts: unknown[] = []
    const steps: Record<string, unknown> = { parts }
    for await (const line of createInterface(child.stdout)) {
      const [step, value] = JSON.parse(line) as [string, unknown]
      if (step !== 'part') steps[step] = value
      else {
        parts.push(value)
        // The upstream sends the next chunk only after this.
        upstream.goOn()
      }
    }
    await eventually(() => upstream.waiting === 0, 'the upstream did not hear that a call was given up')
    return steps
  }
  const common = { parts: ['Hel', 'lo'], list: ['first', 'second'], upload: 'hello a.txt', limited: [429, '7'] }
  const caller = (name: string) => [
    `http://localhost:${calling.service.port}`,
    calling.agent.token,
    calling.grantId,
    `${api}/${name}`,
  ]

  test('deno paginates, uploads, streams, aborts, follows redirects, and reports errors and a 429', async (t) => {
    const deno = findDeno()
    if (deno === undefined) {
      t.skip('The package deno has no program for this machine.')
      return
    }
    const script = join(import.meta.dirname, 'other-clients/deno.mjs')
    const sdk = pathToFileURL(join(root, 'sdk/dist/index.js')).href
    const permissions = ['run', '--quiet', '--no-prompt', '--no-config', '--no-lock', '--allow-net', '--allow-read']
    assert.deepEqual(await stepsOf(deno, [...permissions, script, sdk, ...caller('deno')]), {
      ...common,
      moved: [200, '/items?page=2', true],
      hang: 'TimeoutError',
      refused: [403, 'host_not_allowed'],
    })
  })

  for (const [name, more] of Object.entries({
    requests: { hang: 'ReadTimeout', joined: 'hello' },
    httpx: { hang: 'ReadTimeout', async: 'first' },
  })) {
    test(`${name} does, with the adapter of docs/python.md`, async (t) => {
      const python = await findPython(name)
      if (python === undefined) {
        t.skip(`No Python here has ${name} (Debian: python3-${name}).`)
        return
      }
      const script = join(import.meta.dirname, 'other-clients/adapters.py')
      const steps = await stepsOf(python, ['-B', script, name, join(root, 'docs/python.md'), ...caller(name)])
      const { example, text, ...others } = steps
      assert.deepEqual(example, [{ name: 'first', token: 'Bearer [REDACTED]' }])
      assert.equal(text, 'hello')
      assert.deepEqual(others, {
        ...common,
        moved: [200, '/items?page=2', 'second'],
        refused: [403, 'host_not_allowed', '1'],
        ...more,
      })
    })
  }

  test("a caller beyond the agent's rate limit waits and loses nothing", async () => {
    const { token, grantId } = await calling.admit()
    const fetch = createAgentClient({ baseUrl: `http://localhost:${calling.service.port}`, token }).fetch(grantId)
    const answers = await Promise.all(Array.from({ length: 4 * inFlight }, () => fetch(`${api}/axios/items`)))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  })

  test('none of them got the token, which the upstream did', async () => {
    assert.ok(upstream.authorizations.length > 10)
    for (const authorization of upstream.authorizations) assert.equal(authorization, `Bearer ${accessToken}`)
    const everything = (await Promise.all(heard)).join('\n')
    assert.ok(everything.includes('[REDACTED]'))
    assert.ok(!everything.includes(accessToken))
  })

  test('the results are in the documentation', () => {
    for (const name of [...Object.keys(libraries), 'deno', 'requests', 'httpx'])
      assert.match(page, new RegExp(`^\\| ${name} `, 'm'))
  })
})

/** The package has a binary for each platform as a separate package. */
function findDeno(): string | undefined {
  try {
    const platform =
      process.platform === 'linux' ? `linux-${process.arch}-glibc` : `${process.platform}-${process.arch}`
    return join(dirname(createRequire(import.meta.url).resolve(`@deno/${platform}/package.json`)), 'deno')
  } catch {
    return undefined
  }
}

/** Everything in an error: message, causes, and the response that the library attached. */
function everythingIn(error: unknown): string {
  const seen = new Set<unknown>()
  const texts = (value: unknown): string => {
    if (typeof value !== 'object' || value === null) return String(value)
    if (seen.has(value)) return ''
    seen.add(value)
    if (value instanceof Headers) return JSON.stringify([...value])
    return Object.getOwnPropertyNames(value)
      .filter((name) => name !== 'stack')
      .map((name) => texts((value as Record<string, unknown>)[name]))
      .join(' ')
  }
  return texts(error)
}
