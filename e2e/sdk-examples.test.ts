/**
 * The examples of docs/sdk.md and of the SDK's own comments, run as they stand there: the last test finds each of them
 * in this file, line by line.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { drive } from '@googleapis/drive'
import { LinearSdk } from '@linear/sdk'
import { Client as Notion } from '@notionhq/client'
import { Octokit } from '@octokit/core'
import {
  createAdminClient,
  createAgentClient,
  createDeviceClient,
  createUserClient,
  generateDeviceKey,
  pairDevice,
  registerAgent,
  SallyportError,
  verifyCallback,
  verifyReceipt,
} from '@sallyport/sdk'
import type { AgentClient, UserClient } from '@sallyport/sdk'
import { WebClient } from '@slack/web-api'
import axios from 'axios'
import ky from 'ky'
import OpenAI from 'openai'
import Stripe from 'stripe'
import { startCallbackReceiver } from '../server/testkit/callback-receiver.ts'
import type { CallbackReceiver } from '../server/testkit/callback-receiver.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { eventually } from './running-service.ts'

const root = resolve(import.meta.dirname, '..')

describe('an example of the SDK', () => {
  let calling: Calling
  let receiver: CallbackReceiver
  let baseUrl: string
  let agent: AgentClient
  let user: UserClient
  /** What an example said, instead of the console. */
  let said: unknown[][] = []
  const console = {
    log: (...values: unknown[]) => {
      said.push(values)
    },
  }
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    receiver = await startCallbackReceiver(scope)
    calling = await startCalling(scope, 'sqlite', { hosts: [receiver.host] })
    baseUrl = `http://localhost:${calling.service.port}`
    agent = createAgentClient({ baseUrl, token: calling.agent.token })
    user = createUserClient({ baseUrl, token: calling.personToken })
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  test('registers an agent and tries the sandbox', async () => {
    said = []
    const { access_token } = await registerAgent({ baseUrl, name: 'Release notes' })
    const agent = createAgentClient({ baseUrl, token: access_token })

    const { grant_id, echo_url } = await agent.sandbox()
    const { status, body } = await agent.proxy({ grant_id, method: 'GET', url: echo_url })
    console.log(status, body) // 200, and what the upstream was sent: "authorization": "Bearer [REDACTED]"

    assert.match(JSON.stringify(said), /\[\[200,.*"authorization":"Bearer \[REDACTED\]"/)
  })

  test('in the comment of the agent’s client', async () => {
    const { token } = calling.agent
    const agent = createAgentClient({ baseUrl, token })
    const { grant_id, echo_url } = await agent.sandbox()
    const answer = await agent.proxy({ grant_id, method: 'GET', url: echo_url })
    assert.equal(answer.status, 200)
  })

  test('asks a person and waits', async () => {
    said = []
    const { signal } = new AbortController()
    void eventually(async () => {
      const [, id] = /approve-proxy\/(arq_\w+)/.exec(String(said[0]?.[0])) ?? []
      if (id === undefined) return false
      await user.accessRequests.approve(id, { connection_id: calling.connectionId })
      return true
    }, 'nobody was asked')
    const asked = await agent.requestAccess({ provider: 'acme', methods: ['GET'], reason: 'to list your issues' })
    console.log(`Please decide at ${asked.approval_url}`)
    const { grant_id } = await agent.waitForGrant(asked.access_request_id, { signal })
    assert.match(grant_id, /^grt_/)
  })

  test('gives a fetch to libraries', () => {
    const { grantId: grant_id } = calling
    const fetch = agent.fetch(grant_id)
    const octokit = new Octokit({ request: { fetch } })
    const google = drive({ version: 'v3', fetchImplementation: fetch })
    const openai = new OpenAI({ fetch, apiKey: 'none' })
    const anthropic = new Anthropic({ fetch, apiKey: 'none' })
    const stripe = new Stripe('none', { httpClient: Stripe.createFetchHttpClient(fetch) })
    const notion = new Notion({ fetch, auth: 'none' })
    const http = axios.create({ adapter: 'fetch', env: { fetch } })
    const api = ky.create({ fetch })
    const made = [octokit, google, openai, anthropic, stripe, notion, http, api]
    assert.ok(made.every((library) => ['object', 'function'].includes(typeof library)))
  })

  test('says a refusal in Slack’s own words', async () => {
    const { grantId: grant_id } = calling
    const onRefusal = ({ code }: SallyportError) => Response.json({ ok: false, error: code })
    const slack = new WebClient('none', { fetch: agent.fetch(grant_id, { onRefusal }) })
    await assert.rejects(slack.auth.test(), { data: { ok: false, error: 'host_not_allowed', response_metadata: {} } })
  })

  test('asks Linear', async () => {
    const { grantId: grant_id } = calling
    const fetch = agent.fetch(grant_id)
    const linear = new LinearSdk(async (query, variables) => {
      const body = JSON.stringify({ query, variables })
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch('https://api.linear.app/graphql', { method: 'POST', headers, body })
      const { data, error, errors } = (await answer.json()) as Record<string, any>
      if (data === undefined) throw new Error(JSON.stringify(error ?? errors))
      return data
    })
    await assert.rejects(linear.teams(), /host_not_allowed/)
  })

  test('asks for what a refused call needs', async () => {
    const asked = await agent.requestAccess({ provider: 'acme', methods: ['GET'] })
    const { access_request_id: id } = asked
    const { grant_id } = await user.accessRequests.approve(id, { connection_id: calling.connectionId })
    const url = `https://${receiver.host}/thing`
    try {
      await agent.proxy({ grant_id, method: 'DELETE', url })
    } catch (error) {
      if (!(error instanceof SallyportError) || !error.accessRequest) throw error
      await agent.requestAccess(error.accessRequest) // what would make this very call possible
    }
    const [newest] = (await agent.audit.list({ event: 'access_request.created', limit: 1 }).page()).records
    const wanted = await agent.accessRequest(String(newest?.detail['access_request_id']))
    assert.deepEqual([wanted.hosts, wanted.methods], [[receiver.host], ['DELETE']])
  })

  test('decides as a person', async () => {
    said = []
    const sessionToken = calling.personToken
    const { connectionId: connection_id } = calling
    const me = (await user.auth.me()).user.user_id
    await agent.requestAccess({ provider: 'acme', user_id: me, reason: 'to help' })
    {
      const user = createUserClient({ baseUrl, token: sessionToken })
      for await (const request of user.accessRequests.pending()) {
        console.log(request.agent.name, 'asks for', request.provider_name, request.reason)
        await user.accessRequests.approve(request.access_request_id, { connection_id, max_calls: 10 })
      }
    }
    assert.deepEqual(said, [['an agent', 'asks for', 'Acme', 'to help']])
    await agent.requestAccess({ provider: 'acme', user_id: me, reason: 'to help again' })
    {
      const user = createUserClient({ baseUrl, token: sessionToken })
      for await (const request of user.accessRequests.pending()) console.log(request.agent.name, request.reason)
    }
    assert.deepEqual(said[1], ['an agent', 'to help again'])
  })

  test('lists', async () => {
    said = []
    const { grants, next_cursor } = await user.grants.list({ limit: 20 }).page()
    for await (const grant of user.grants.list({ status: 'active' })) console.log(grant.grant_id)
    assert.deepEqual([grants.length > 0, next_cursor], [true, null])
    assert.deepEqual(
      said.flat(),
      grants.filter(({ status }) => status === 'active').map(({ grant_id }) => grant_id),
    )
  })

  test('signs as a device, and verifies the receipt', async () => {
    said = []
    const { connectionId: connection_id } = calling
    const { pairing_code: pairingCode } = await user.devices.createPairingCode()
    const { access_request_id: accessRequestId } = await agent.requestAccess({ provider: 'acme' })
    const key = await generateDeviceKey() // its private half can not be exported: a browser keeps it in IndexedDB
    const { session_token } = await pairDevice({ baseUrl, pairingCode, key, deviceName: 'Desk' })
    const device = createDeviceClient({ baseUrl, sessionToken: session_token, key })
    await device.accessRequests.approve(accessRequestId, { connection_id, max_calls: 3 })

    const { grant_id } = await agent.waitForGrant(accessRequestId)
    const { verdict, covers } = await verifyReceipt(await agent.receipt(grant_id))
    console.log(verdict, covers) // signed [ 'connection_id', 'max_calls' ]
    assert.deepEqual(said, [['signed', ['connection_id', 'max_calls']]])
  })

  test('in the comment of pairing', async () => {
    const { pairing_code: pairingCode } = await user.devices.createPairingCode()
    const key = await generateDeviceKey()
    const { session_token } = await pairDevice({ baseUrl, pairingCode, key, deviceName: 'Desk' })
    const device = createDeviceClient({ baseUrl, sessionToken: session_token, key })
    assert.equal((await device.me()).device?.device_name, 'Desk')
  })

  test('looks after the service', async () => {
    const { adminToken } = calling.service
    const admin = createAdminClient({ baseUrl, adminToken })
    const { login_url } = await admin.createLoginToken({ email: 'ada@example.com' })
    assert.match(login_url, /#login_token=/)
  })

  test('verifies a callback that the service sent', async () => {
    said = []
    const asked = await agent.requestAccess({ provider: 'acme', callback_url: receiver.url.href })
    const { access_request_id: id } = asked
    await user.accessRequests.approve(id, { connection_id: calling.connectionId })
    await eventually(() => receiver.received.length > 0, 'no callback came')
    const { headers, body = '' } = receiver.received[0] ?? {}
    const request = new Request(receiver.url, { method: 'POST', headers: headers ?? {}, body })
    const secret = asked.callback_secret ?? '' // of requestAccess with a callback_url; shown once
    const event = await verifyCallback(secret, request.headers, await request.text())
    if (event.status === 'approved') console.log(event.grant_id)
    assert.match(String(said[0]?.[0]), /^grt_/)
    assert.equal(event.access_request_id, id)
    await assert.rejects(verifyCallback(secret, request.headers, `${body} `), { code: 'invalid_callback' })
  })
})

/** Trimmed, without imports and empty lines. */
const linesOf = (code: string) =>
  code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('import '))

test('every example is run here', () => {
  const sources = readdirSync(join(root, 'sdk/src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(root, 'sdk/src', name), 'utf8').replaceAll(/^ *\* ?/gm, ''))
  const pages = ['docs/sdk.md', 'sdk/README.md', 'README.md'].map((name) => readFileSync(join(root, name), 'utf8'))
  const examples = [...pages, ...sources].flatMap((text) => [...text.matchAll(/^```ts\n(.*?)^```/gms)])
  const here = linesOf(readFileSync(import.meta.filename, 'utf8')).join('\n')
  const missing = examples.map(([, code = '']) => linesOf(code).join('\n')).filter((code) => !here.includes(code))
  assert.deepEqual(missing, [])
  assert.ok(examples.length > 12, String(examples.length))
})
