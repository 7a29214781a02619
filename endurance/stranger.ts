/** Attacks by someone with 100 addresses and no approval: registers agents, uses their sandboxes, and misbehaves. */
import { requestKinds } from '../e2e/cut-connections.ts'
import { rawRequest } from './attack.ts'
import type { AgentCredentials, Attacker, Attacks } from './attack.ts'

/** Bodies that are slow for a careless regular expression or parser. */
const slowBodies = [
  `method ;name=${' '.repeat(20_000)}`,
  `Content-Disposition: form-data${'; name='.repeat(5000)}`,
  '\\'.repeat(30_000),
  `/${'\\+'.repeat(15_000)}`,
  '%25'.repeat(15_000),
  '&a=b'.repeat(10_000),
  '\\u005c'.repeat(8000),
  `--x\r\n${'\r\n'.repeat(15_000)}`,
]
const largeDocuments = ['/openapi.json', '/docs/static/openapi-explorer.js']
const documents = [...largeDocuments, '/SKILL.md', '/llms.txt', '/healthz', '/v4/providers']

const pick = <T>(list: T[], index: number): T => list[index % list.length] as T

/** One of the agents registered so far. */
function stranger({ strangers, port }: Attacker, index: number): AgentCredentials {
  return strangers.length === 0 ? { token: `none-${port}`, grantId: 'none' } : pick(strangers, index)
}

async function sandboxCall(attacker: Attacker, index: number, more: object, headers: Record<string, string> = {}) {
  const { token, grantId } = stranger(attacker, index)
  const url = `http://localhost:${attacker.port}/v4/sandbox/echo?${index}`
  const body = { grant_id: grantId, method: 'POST', url, ...more }
  return (await attacker.call('POST', '/v4/proxy', { token, body, headers })).status
}

export const strangersAttacks: Attacks = {
  'registering agents': ({ call, repeat, strangers }) =>
    repeat(10, async () => {
      const registered = await call('POST', '/v4/agents/register', { body: { name: 'stranger' } })
      if (registered.status !== 201) return registered.status
      const { access_token: token } = registered.body as { access_token: string }
      const started = await call('POST', '/v4/sandbox/start', { token })
      if (started.status !== 201) return started.status
      strangers.push({ token, grantId: (started.body as { grant_id: string }).grant_id })
      return 201
    }),
  'announcing bodies and sending none': ({ hold, port }) =>
    hold(300, (socket) =>
      socket.write(
        rawRequest({ port }, 'POST /v4/agents/register HTTP/1.1', [
          'Content-Type: application/json',
          'Content-Length: 262144',
        ]),
      ),
    ),
  'sending bodies slowly': ({ hold, port }) =>
    hold(100, (socket) => {
      socket.write(
        rawRequest({ port }, 'POST /v4/agents/register HTTP/1.1', [
          'Content-Type: application/json',
          'Content-Length: 262144',
        ]),
      )
      const timer = setInterval(() => socket.write(' '), 1000)
      socket.once('close', () => {
        clearInterval(timer)
      })
    }),
  'connections without a request': ({ hold }) => hold(100, () => undefined),
  'CONNECT and reset': ({ open, repeat }) =>
    repeat(10, async () => {
      const socket = await open()
      socket.write('CONNECT api.github.com:443 HTTP/1.1\r\nHost: api.github.com:443\r\n\r\n')
      await new Promise(setImmediate)
      socket.resetAndDestroy()
      return 'reset'
    }),
  'cutting requests anywhere': (attacker) =>
    attacker.repeat(10, async (index) => {
      const listener = { name: '', port: attacker.port, address: '127.0.0.1' as const, tls: false, path: '/healthz' }
      const kinds = Object.values(requestKinds(listener, stranger(attacker, index)))
      const text = pick(kinds, index)
      const socket = await attacker.open()
      socket.end(text.slice(0, (index * 7919) % text.length), 'latin1')
      await new Promise(setImmediate)
      if (index % 2 === 0) socket.resetAndDestroy()
      else socket.resume()
      return 'cut'
    }),
  'ambiguous requests': ({ send, repeat, port }) =>
    repeat(10, (index) =>
      send(
        pick(
          [
            rawRequest({ port }, 'POST /v4/proxy HTTP/1.0', ['Transfer-Encoding: chunked']) + '0\r\n\r\n',
            rawRequest({ port }, 'GET /v4/agents/me HTTP/1.1', ['Authorization: Bearer a', 'Authorization: Bearer b']),
            rawRequest({ port }, 'POST /v4/proxy HTTP/1.1', ['Content-Length: 1', 'Content-Length: 2']),
            rawRequest({ port }, 'GET /healthz HTTP/1.1', ['Host: other.example']),
            rawRequest({ port }, 'GET /healthz HTTP/1.1', [`X: ${'x'.repeat(20_000)}`]),
          ],
          index,
        ),
      ),
    ),
  'reading public documents': ({ call, repeat }) =>
    repeat(10, async (index) => (await call('GET', pick(documents, index))).status),
  'not reading public documents': ({ hold, port }) =>
    hold(100, (socket, index) => {
      socket.pause()
      socket.write(rawRequest({ port }, `GET ${pick(largeDocuments, index)} HTTP/1.1`).repeat(30))
    }),
  'a thousand requests on one connection': ({ hold, port }) =>
    hold(4, (socket) => socket.resume().write(rawRequest({ port }, 'GET /v4/agents/me HTTP/1.1').repeat(1000))),
  'invalid tokens and unknown paths': ({ call, repeat }) =>
    repeat(20, async (index) => {
      const path = pick(['/v4/agents/me', '/v4/grants', '/v4/nothing', '/v4/audit?q=a', '/v1/read'], index)
      return (await call('GET', path, { token: `sp_agent_${index}` })).status
    }),
  'deep JSON': ({ call, repeat }) =>
    repeat(4, async (index) => {
      const body = pick(
        [
          '['.repeat(100_000),
          `{"a":`.repeat(40_000),
          `{"name":"a","metadata":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
        ],
        index,
      )
      return (await call('POST', '/v4/agents/register', { body })).status
    }),
  'bodies that are slow to search': (attacker) =>
    attacker.repeat(10, (index) =>
      sandboxCall(attacker, index, {
        body: pick(slowBodies, index),
        headers: {
          'content-type': pick(
            ['multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', 'text/plain'],
            index,
          ),
        },
      }),
    ),
  'filling the record from the sandbox': (attacker) =>
    attacker.repeat(20, (index) =>
      sandboxCall(
        attacker,
        index,
        { body: 'x'.repeat(2000), headers: { 'x-note': 'y'.repeat(2000) } },
        { 'idempotency-key': `${process.pid}-${index}` },
      ),
    ),
  'refused calls': (attacker) =>
    attacker.repeat(10, (index) => sandboxCall(attacker, index, { url: `https://other.example/${'p'.repeat(1000)}` })),
  'not reading answers of the sandbox': (attacker) =>
    attacker.hold(50, (socket, index) => {
      const { token, grantId } = stranger(attacker, index)
      const url = `http://localhost:${attacker.port}/v4/sandbox/echo`
      const body = JSON.stringify({ grant_id: grantId, method: 'POST', url, body: '\u0001'.repeat(60_000) })
      socket.pause()
      socket.write(rawRequest(attacker, 'POST /v4/proxy HTTP/1.1', [`Authorization: Bearer ${token}`], body).repeat(5))
    }),
  'searching and listing': (attacker) =>
    attacker.repeat(10, async (index) => {
      const path = pick(
        ['/v4/audit?q=nothing', '/v4/audit?outcome=failed&limit=100', '/v4/grants', '/v4/audit?format=csv'],
        index,
      )
      return (await attacker.call('GET', path, { token: stranger(attacker, index).token })).status
    }),
  'asking for access': (attacker) =>
    attacker.repeat(5, async (index) => {
      const body = { provider: pick(['acme', 'sandbox', 'nothing'], index), reason: 'r'.repeat(500) }
      return (await attacker.call('POST', '/v4/access-requests', { token: stranger(attacker, index).token, body }))
        .status
    }),
  'proposing providers': (attacker) =>
    attacker.repeat(1, async (index) => {
      const body = { provider_name: `Provider ${index}`, issuer_url: `https://127.0.0.1:${attacker.port}` }
      return (await attacker.call('POST', '/v4/providers/proposals', { token: stranger(attacker, index).token, body }))
        .status
    }),
}
