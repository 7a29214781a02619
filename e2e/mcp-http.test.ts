/** The MCP server's access control over HTTP, its start and stop, and its messages without a token. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { sharedAgentSide } from './agent-side.ts'
import { executable } from './command-line.ts'

const shared = sharedAgentSide()

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** With node:http, which can send any Host. */
async function post(url: string, headers: Record<string, string>, body: unknown = initialize) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; session: unknown; text: string }>()
  const sent = request(url, { method: 'POST', agent: false, headers: { ...accept, ...headers } }, (response) => {
    const { statusCode: status = 0, headers } = response
    readText(response).then((text) => {
      resolve({ status, session: headers['mcp-session-id'], text })
    }, reject)
  })
  sent.on('error', reject)
  sent.end(typeof body === 'string' ? body : JSON.stringify(body))
  return promise
}

test('over HTTP only loopback hosts, no other origin, and only with the token', async () => {
  const cli = await shared().registered()
  const server = cli.start(['mcp', '--http', '--port', '0'])
  const url = /http:\S+/.exec(await server.until(/Ctrl-C/))?.[0] ?? ''
  const file = join(cli.home, '.config/sallyport/mcp-token')
  const token = readFileSync(file, 'utf8').trim()
  assert.equal((statSync(file).mode & 0o777).toString(8), '600')
  assert.equal(
    server.seen(),
    `${url}\nClients send "Authorization: Bearer …" with the token from ${file}. Press Ctrl-C to stop.\n`,
  )
  const bearer = { authorization: `Bearer ${token}` }
  const statuses = {
    'without a token': (await post(url, {})).status,
    'with another': (await post(url, { authorization: 'Bearer x' })).status,
    'by another name': (await post(url, { ...bearer, host: 'evil.example.com' })).status,
    'by another port': (await post(url, { ...bearer, host: '127.0.0.1:1' })).status,
    'from a page elsewhere': (await post(url, { ...bearer, origin: 'https://evil.example.com' })).status,
    'from a sandboxed page': (await post(url, { ...bearer, origin: 'null' })).status,
    'elsewhere on it': (await post(url.replace('/mcp', '/'), bearer)).status,
    'where no address can be read': (await post(url.replace('/mcp', '//'), bearer)).status,
    'in a session of nobody': (await post(url, { ...bearer, 'mcp-session-id': 'x' })).status,
    'with too much': (await post(url, { ...bearer, 'content-length': '5000000' }, ' ').catch(() => ({ status: 0 })))
      .status,
    'with no JSON': (await post(url, bearer, '{')).status,
    'with the token': (await post(url, bearer)).status,
    'by its other name': (await post(url, { ...bearer, host: `localhost:${new URL(url).port}` })).status,
  }
  assert.deepEqual(statuses, {
    'without a token': 401,
    'with another': 401,
    'by another name': 421,
    'by another port': 421,
    'from a page elsewhere': 403,
    'from a sandboxed page': 403,
    'elsewhere on it': 404,
    'where no address can be read': 404,
    'in a session of nobody': 404,
    'with too much': 413,
    'with no JSON': 400,
    'with the token': 200,
    'by its other name': 200,
  })
  // More sessions than allowed: the oldest ends, and the others continue.
  const { session: first } = await post(url, bearer)
  const others = await Promise.all(Array.from({ length: 40 }, () => post(url, bearer)))
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  const inSession = async (id: unknown) => (await post(url, { ...bearer, 'mcp-session-id': String(id) }, list)).status
  assert.deepEqual([await inSession(first), await inSession(others.at(-1)?.session)], [404, 200])

  const busy = await cli.run(['mcp', '--http', '--port', new URL(url).port])
  assert.deepEqual(
    [busy.code, busy.stderr],
    [1, `sallyport: can't listen on 127.0.0.1:${new URL(url).port} (EADDRINUSE)\n`],
  )
  server.signal('SIGINT')
  assert.equal((await server.ended).code, 0)
  assert.ok(!cli.printed().includes(token))
})

test('without a token the tools explain how to get one, and use it once it exists', async (t) => {
  const cli = shared().home()
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [executable, 'mcp'],
    env: cli.env,
    stderr: 'pipe',
  })
  const client = new Client({ name: 'a test', version: '1' })
  t.after(() => client.close())
  await client.connect(transport)
  const providers = await client.callTool({ name: 'list_providers', arguments: {} })
  assert.equal(providers.isError, undefined)
  const grants = await client.callTool({ name: 'list_grants', arguments: {} })
  assert.equal(grants.isError, true)
  assert.match(JSON.stringify(grants.content), /register an agent for this MCP server/)
  await cli.run(['register', 'Late'])
  assert.equal((await client.callTool({ name: 'list_grants', arguments: {} })).isError, undefined)
  await client.close()

  // It ends when its client disconnects, also while a tool waits for a user.
  const asked = JSON.parse((await cli.run(['request', 'acme', '--no-wait', '--json'])).stdout)
  const waiting = { access_request_id: asked.access_request_id, wait_seconds: 600 }
  const script = [
    initialize,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'check_access', arguments: waiting } },
  ]
  const ended = await cli.run(['mcp'], { input: script.map((one) => `${JSON.stringify(one)}\n`).join('') })
  assert.equal(ended.code, 0)
  const lines = ended.stdout.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).id),
    [1],
  )
})
