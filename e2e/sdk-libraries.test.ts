/** Client libraries as they are published, each given the SDK's fetch: none of them knows that it is not the usual one. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { text } from 'node:stream/consumers'
import { Octokit } from '@octokit/core'
import { createAgentClient } from '@sallyport/sdk'
import { WebClient } from '@slack/web-api'
import OpenAI, { toFile } from 'openai'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { startToldUpstream } from './sdk-upstream.ts'
import type { Respond, ToldUpstream } from './sdk-upstream.ts'

const accessToken = `upstream-${'k3y'.repeat(10)}`

describe('unmodified', () => {
  let calling: Calling
  let upstream: ToldUpstream
  let api: string
  let fetch: typeof globalThis.fetch
  let unwatched: typeof globalThis.fetch
  /** All that came back to a library. */
  const heard: Promise<string>[] = []
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    upstream = await startToldUpstream(scope, answers)
    const tokens = { access_token: accessToken, refresh_token: `refresh-${'k3y'.repeat(10)}` }
    calling = await startCalling(scope, 'sqlite', { hosts: [upstream.host], tokens })
    api = `https://${upstream.host}`
    const agent = createAgentClient({ baseUrl: `http://localhost:${calling.service.port}`, token: calling.agent.token })
    unwatched = agent.fetch(calling.grantId)
    fetch = async (...call) => {
      const response = await unwatched(...call)
      heard.push(Promise.resolve(JSON.stringify([...response.headers])), response.clone().text())
      return response
    }
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  test('octokit lists, pages, creates, and reports an error of the API', async () => {
    const octokit = new Octokit({ request: { fetch }, baseUrl: api, auth: 'none' })
    const first = await octokit.request('GET /repos/{owner}/{repo}/issues', { owner: 'ada', repo: 'engine' })
    assert.deepEqual([first.status, first.data[0]?.title], [200, 'first'])
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.link ?? '')?.[1] ?? ''
    const second = await octokit.request(`GET ${next}`)
    assert.deepEqual([second.data[0].title, second.url], ['second', `${api}/repos/ada/engine/issues?page=2`])
    const created = await octokit.request('POST /repos/{owner}/{repo}/issues', {
      ...{ owner: 'ada', repo: 'engine', title: 'grüße' },
    })
    assert.deepEqual([created.status, created.data.title], [201, 'grüße'])
    await assert.rejects(octokit.request('GET /repos/{owner}/{repo}', { owner: 'ada', repo: 'none' }), {
      status: 404,
      message: /There is no such repository/,
    })
  })

  test('openai streams a completion part by part, and uploads a file', async () => {
    const openai = new OpenAI({ fetch, baseURL: `${api}/v1`, apiKey: 'none', maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'Say hello.' }]
    const stream = await openai.chat.completions.create({ model: 'gpt', messages, stream: true })
    const parts: string[] = []
    for await (const { choices } of stream) {
      parts.push(choices[0]?.delta.content ?? '')
      // The upstream sends the next one only then.
      upstream.goOn()
    }
    assert.deepEqual(parts, ['Hel', 'lo'])
    const whole = await openai.chat.completions.create({ model: 'gpt', messages })
    assert.deepEqual([whole.choices[0]?.message.content, whole._request_id], ['Hello', 'req_theirs'])
    const file = await openai.files.create({ purpose: 'batch', file: await toFile(Buffer.from('{}'), 'b.jsonl') })
    assert.match(file.filename, /name="file"; filename="b.jsonl"/)
    await assert.rejects(openai.models.retrieve('none'), { status: 404 })
  })

  test('openai is stopped in the middle, and so is the upstream', async () => {
    // Without the copies that the other tests keep, which would hold the answer open.
    const openai = new OpenAI({ fetch: unwatched, baseURL: `${api}/v1`, apiKey: 'none', maxRetries: 0 })
    const stream = await openai.chat.completions.create({ model: 'endless', messages: [], stream: true })
    for await (const part of stream) {
      assert.equal(part.choices[0]?.delta.content, 'Hel')
      break
    }
    await upstream.gone()
  })

  test('slack posts a message, reports an error of the API, and uploads a file', async () => {
    const slack = new WebClient('none', { fetch, slackApiUrl: `${api}/api/`, retryConfig: { retries: 1 } })
    const posted = await slack.chat.postMessage({ channel: 'C1', text: 'grüße & co' })
    assert.deepEqual([posted.ok, posted.message?.text], [true, 'grüße & co'])
    assert.equal((await slack.auth.test()).user, 'ada')
    await assert.rejects(slack.conversations.join({ channel: 'C2' }), /channel_not_found/)
    const uploaded = await slack.filesUploadV2({ file: Buffer.from('hello'), filename: 'a.txt', channel_id: 'C1' })
    assert.equal(uploaded.ok, true)
  })

  test('none of them has seen the token, which the upstream has', async () => {
    assert.ok(upstream.authorizations.length > 10)
    for (const authorization of upstream.authorizations) assert.equal(authorization, `Bearer ${accessToken}`)
    const everything = (await Promise.all(heard)).join('\n')
    assert.ok(everything.includes('[REDACTED]'))
    assert.ok(!everything.includes(accessToken))
  })
})

const json = (response: ServerResponse, value: object, status = 200, headers: Record<string, string> = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** The few answers of these APIs that the libraries ask for; each gives the token away where it can. */
const answers: Record<string, Respond> = {
  '/repos/ada/engine/issues': async (request, response, { searchParams }) => {
    const repeated = { 'x-oauth-token': request.headers.authorization ?? '' }
    if (request.method === 'POST') {
      json(response, { ...(JSON.parse(await text(request)) as object), number: 3 }, 201, repeated)
    } else if (searchParams.get('page') === '2') {
      json(response, [{ number: 2, title: 'second' }], 200, repeated)
    } else {
      const link = `<https://${request.headers.host ?? ''}/repos/ada/engine/issues?page=2>; rel="next"`
      json(response, [{ number: 1, title: 'first', body: request.headers.authorization }], 200, { ...repeated, link })
    }
  },
  '/repos/ada/none': (_request, response) => {
    json(response, { message: 'There is no such repository' }, 404)
  },
  '/v1/chat/completions': async (request, response, _url, { turn, departs }) => {
    const { stream, model } = JSON.parse(await text(request)) as { stream?: boolean; model: string }
    const choice = (member: object) => ({ id: 'c', object: 'chat.completion', choices: [{ index: 0, ...member }] })
    if (!stream) {
      json(response, choice({ message: { role: 'assistant', content: 'Hello' } }), 200, {
        'x-request-id': 'req_theirs',
      })
      return
    }
    const event = (content: string) => `data: ${JSON.stringify(choice({ delta: { content } }))}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (model === 'endless') {
      departs(response)
      response.write(event('Hel'))
      return
    }
    const next = turn()
    response.write(event('Hel'))
    await next
    response.end(`${event('lo')}data: [DONE]\n\n`)
  },
  '/v1/files': async (request, response) => {
    const [, disposition = ''] = /Content-Disposition: form-data; (name="file"[^\r]*)/i.exec(await text(request)) ?? []
    json(response, { id: 'file-1', object: 'file', filename: disposition })
  },
  '/v1/models/none': (_request, response) => {
    json(response, { error: { message: 'no such model' } }, 404)
  },
  '/api/auth.test': (request, response) => {
    json(response, { ok: true, user: 'ada', url: request.headers.authorization })
  },
  '/api/chat.postMessage': async (request, response) => {
    const form = new URLSearchParams(await text(request))
    json(response, { ok: true, message: { text: form.get('text') }, token: form.get('token') })
  },
  '/api/conversations.join': (_request, response) => {
    json(response, { ok: false, error: 'channel_not_found' })
  },
  '/api/files.getUploadURLExternal': (request, response) => {
    json(response, { ok: true, file_id: 'F1', upload_url: `https://${request.headers.host ?? ''}/upload` })
  },
  '/upload': async (request, response) => {
    response.end(`OK - ${(await text(request)).length}`)
  },
  '/api/files.completeUploadExternal': (_request, response) => {
    json(response, { ok: true, files: [{ id: 'F1' }] })
  },
}
