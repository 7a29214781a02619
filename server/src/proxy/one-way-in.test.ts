/** There is one entry to the proxy: a hook that is added to the app applies to every kind of call. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { accessToken, startCalling } from '../../testkit/calling.ts'
import type { Answer, Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { makeKey, openTunnel } from '../../testkit/tool-calling.ts'
import type { ToolReply, ToolRequest } from '../../testkit/tool-calling.ts'
import { ServiceError } from '../platform/errors.ts'

const page = 'https://app.example.com'

/** An upstream that tries to send headers of the service. */
const answer: Answer = (response, { path }) => {
  if (path === '/broken') return response.destroy()
  response.setHeader('x-rule', 'of the upstream').setHeader('vary', 'Accept').setHeader('__proto__', 'odd')
  if (path === '/empty') return response.writeHead(204).end()
  return response.end(`${path === '/long' ? 'long '.repeat(60_000) : 'short'} ${accessToken}`)
}

interface Kind {
  name: string
  /** Default: to the proxy. */
  target?: string
  method?: string
  /** Instead of a call to the service itself. */
  send?: (path: string, request: ToolRequest) => Promise<ToolReply>
  headers?: Record<string, string>
  body?: object | string
  /** It is answered before anything asks who calls. */
  isPreflight?: boolean
  /** Its body is never read. */
  isRefusedEarly?: boolean
  status: number
}

/** Every kind of request that makes calls. */
async function kindsOf(t: TestContext, calling: Calling): Promise<Kind[]> {
  const { service, agent, grantId, upstream } = calling
  const { body: sandbox } = await service.call('POST', '/v4/sandbox/start', { token: agent.token })
  const echo = { grant_id: sandbox.grant_id as string, url: sandbox.echo_url as string }
  const headers = { authorization: `Bearer ${agent.token}` }
  const fromPage = { ...headers, origin: page }
  const keyed = { ...headers, 'idempotency-key': 'key' }
  const to = (path: string, members: object = {}) => {
    const place = { grant_id: grantId, url: `https://${upstream.host}${path}` }
    return { method: 'GET', ...place, ...members }
  }
  const stream = { stream: true }
  const preflight = { origin: page, 'access-control-request-method': 'POST' }
  return [
    { name: 'whole', headers, body: to('/short'), status: 200 },
    { name: 'whole, and sent in pieces', headers, body: to('/long'), status: 200 },
    { name: 'with a key', headers: keyed, body: to('/short'), status: 200 },
    { name: 'with a key again', headers: keyed, body: to('/short'), status: 200 },
    { name: 'dry run', headers, body: to('/short', { dry_run: true }), status: 200 },
    { name: 'streamed', headers, body: to('/short', stream), status: 200 },
    { name: 'streamed without a body', headers, body: to('/empty', stream), status: 204 },
    {
      name: 'streamed with a key',
      headers: { ...keyed, 'idempotency-key': 's' },
      body: to('/long', stream),
      status: 200,
    },
    { name: 'refused', headers, body: { ...to('/short'), grant_id: 'grt_none' }, status: 404 },
    { name: 'refused, streamed', headers, body: { ...to('/short', stream), grant_id: 'grt_none' }, status: 404 },
    { name: 'failed', headers, body: to('/broken'), status: 502 },
    { name: 'failed, streamed', headers, body: to('/broken', stream), status: 502 },
    { name: 'malformed', headers, body: '{', status: 400 },
    { name: 'without a token', body: to('/short'), isRefusedEarly: true, status: 401 },
    { name: 'of a page', headers: fromPage, body: to('/short'), status: 200 },
    { name: 'of a page, streamed', headers: fromPage, body: to('/short', stream), status: 200 },
    { name: 'of a page, refused', headers: fromPage, body: { ...to('/short'), grant_id: 'grt_none' }, status: 404 },
    { name: 'preflight of a page', headers: preflight, isPreflight: true, status: 204 },
    ...(await kindsOfTools(t, calling)),
    { name: 'in the sandbox', headers, body: to('', echo), status: 200 },
    { name: 'in the sandbox, streamed', headers, body: to('', { ...echo, ...stream }), status: 200 },
  ]
}

async function kindsOfTools(t: TestContext, calling: Calling): Promise<Kind[]> {
  const { grantId, upstream } = calling
  const { host } = upstream
  const { key } = await makeKey(calling)
  const at = `/v4/proxy/${grantId}/${host}`
  const headers = { authorization: `Bearer ${key}` }
  const posts = { headers: { ...headers, 'content-type': 'text/plain' }, method: 'POST', body: 'text' }
  const gets = { headers, method: 'GET' }
  const early = { method: 'GET', isRefusedEarly: true, status: 401 }
  const send = await openTunnel(t, calling, { key, host, version: 'HTTP/1.1' })
  const closed = await openTunnel(t, calling, { key: 'sp_key_none', host, version: 'HTTP/1.1' })
  return [
    { name: 'at a base URL', target: `${at}/short`, ...posts, status: 200 },
    { name: 'at a base URL, without a body', target: `${at}/empty`, ...gets, status: 204 },
    { name: 'at a base URL, of another method', target: `${at}/short`, ...posts, method: 'PROPFIND', status: 200 },
    { name: 'at a base URL, refused', target: '/v4/proxy/grt_none/a.example/', ...gets, status: 403 },
    { name: 'at a base URL, failed', target: `${at}/broken`, ...gets, status: 502 },
    { name: 'at a base URL, without a key', target: `${at}/short`, ...early },
    { name: 'in a tunnel', send, target: '/short', ...posts, status: 200 },
    { name: 'in a tunnel, without a body', send, target: '/empty', ...gets, status: 204 },
    { name: 'in a tunnel, failed', send, target: '/broken', ...gets, status: 502 },
    { name: 'in a tunnel, without a key', send: closed, target: '/short', ...early },
  ]
}

onBothDatabases('a rule added to the app once', (engine) => {
  test('applies to every kind of proxied call: a hook, a header rule, a limit', async (t) => {
    const seen = { onRequest: 0, preHandler: 0, onSend: 0, onResponse: 0 }
    let isLimited = false
    const calling = await startCalling(t, engine, {
      answer,
      settings: { SALLYPORT_CORS_ORIGINS: page },
      prepare: ({ http }) => {
        http.addHook('onRequest', async () => {
          seen.onRequest++
          if (isLimited) throw new ServiceError('rate_limited', { retryAfterSeconds: 1 })
        })
        http.addHook('preHandler', async () => {
          seen.preHandler++
        })
        http.addHook('onSend', async (_request, reply) => {
          seen.onSend++
          reply.header('x-rule', 'of the service')
        })
        http.addHook('onResponse', async () => {
          seen.onResponse++
        })
      },
    })
    const { service, upstream } = calling
    for (const kind of await kindsOf(t, calling)) {
      const { name, headers = {}, body, isPreflight = false, isRefusedEarly = false } = kind
      const { method = isPreflight ? 'OPTIONS' : 'POST', target = '/v4/proxy', send } = kind
      const ask = async () => {
        Object.assign(seen, { onRequest: 0, preHandler: 0, onSend: 0, onResponse: 0 })
        const reply = await (send
          ? send(target, { method, headers, ...(typeof body === 'string' && { body }) })
          : service.call(method, target, { headers, body }))
        assert.equal(reply.headers['x-rule'], 'of the service', name)
        assert.match(String(reply.headers['x-request-id']), /^req_/, name)
        const isOfPage = headers['origin'] === page
        assert.equal(reply.headers['access-control-allow-origin'], isOfPage ? page : undefined, name)
        // A tool is no page of another site.
        if (target === '/v4/proxy') assert.match([reply.headers['vary']].flat().join(), /Origin/, name)
        assert.ok(!reply.text.includes(accessToken), name)
        return reply
      }
      assert.equal((await ask()).status, kind.status, name)
      const [early, late] = [isPreflight || isRefusedEarly ? 0 : 1, name === 'malformed' ? 0 : 1]
      assert.deepEqual(seen, { onRequest: early, preHandler: early * late, onSend: 1, onResponse: 1 }, name)
      const received = upstream.received.length
      isLimited = true
      assert.equal((await ask()).status, early ? 429 : kind.status, name)
      assert.deepEqual(seen, { onRequest: early, preHandler: 0, onSend: 1, onResponse: 1 }, name)
      assert.equal(upstream.received.length, received, name)
      isLimited = false
    }
  })

  test('may fail while a response is being sent: the call ends and is cleaned up', async (t) => {
    const calling = await startCalling(t, engine, {
      answer,
      settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '1' },
      prepare: ({ http }) => {
        http.addHook('onSend', async (request, reply) => {
          if (request.url.startsWith('/v4/proxy') && reply.statusCode === 200) throw new Error('a hook failed')
        })
      },
    })
    for (const stream of [true, false, true]) {
      const { status, headers, body } = await calling.proxy({ stream })
      assert.deepEqual([status, body.error.code, headers['x-sallyport-error']], [500, 'internal', '1'])
    }
    const { key } = await makeKey(calling)
    const path = `/v4/proxy/${calling.grantId}/${calling.upstream.host}/short`
    for (let twice = 0; twice < 2; twice++) {
      const { status, body } = await calling.service.call('GET', path, { token: key })
      assert.deepEqual([status, body.error.code], [500, 'internal'])
    }
    const outcomes = (await calling.records()).filter(({ event }) => event === 'proxy.outcome')
    assert.equal(outcomes.length, 5)
  })
})
