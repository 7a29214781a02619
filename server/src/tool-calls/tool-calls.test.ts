/** Calls of tools at both doors are answered as the API answers them, with the user's credential in place of the tool's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessToken, startCalling } from '../../testkit/calling.ts'
import type { Answer, Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { openTunnel, startTools, versions } from '../../testkit/tool-calling.ts'
import type { ToolRequest, ToolReply } from '../../testkit/tool-calling.ts'

type Scope = Parameters<typeof startTools>[0]
type Send = (path: string, request?: ToolRequest) => Promise<ToolReply>

/** Each door, as a function that calls a path of the upstream. */
const doors: Record<string, (t: Scope, calling: Calling) => Promise<Send>> = {
  'at a base URL': async (t, calling) => (await startTools(t, calling)).call,
  ...Object.fromEntries(
    versions.map((version) => [
      `in a tunnel over ${version}`,
      async (t: Scope, calling: Calling) => {
        const { key } = await startTools(t, calling)
        return openTunnel(t, calling, { key, host: calling.upstream.host, version })
      },
    ]),
  ),
}

const answer: Answer = (response, { method, path, body }) => {
  response.setHeader('x-two', ['a', 'b']).setHeader('etag', '"1"').setHeader('set-cookie', 'a=b')
  response.setHeader('alt-svc', 'h3=":443"').setHeader('x-sallyport-error', '1')
  if (path === '/nothing') return response.writeHead(204).end()
  if (path === '/missing') return response.writeHead(404, { 'content-type': 'text/plain' }).end('not here')
  response.setHeader('content-type', 'text/plain')
  if (method === 'HEAD') return response.setHeader('content-length', '1234').end()
  response.setHeader('trailer', 'x-sum').write(`${method} ${path} ${body}`)
  response.addTrailers({ 'x-sum': `7 ${accessToken}` })
  return response.end()
}

onBothDatabases('a call of a tool', (engine) => {
  for (const [name, enter] of Object.entries(doors)) {
    test(`${name} reaches the API as it was sent, and comes back as it was answered`, async (t) => {
      const calling = await startCalling(t, engine, { answer })
      const send = await enter(t, calling)
      const { received } = calling.upstream
      const sent = await send('/things?a=1&a=2&b=%20', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': '7',
          'x-many': ['1', '2'],
          'user-agent': 'a tool',
        },
        body: '{"a":1}',
      })
      assert.deepEqual([sent.status, sent.text], [200, 'POST /things?a=1&a=2&b=%20 {"a":1}'])
      const headers = received[0]?.headers ?? {}
      assert.deepEqual(
        ['authorization', 'content-type', 'content-length', 'x-many', 'user-agent'].map((one) => headers[one]),
        [`Bearer ${accessToken}`, 'application/json', '7', '1, 2', 'a tool'],
      )
      assert.deepEqual(
        [sent.headers['x-two'], sent.headers['etag'], sent.headers['x-sallyport-upstream']],
        ['a, b', '"1"', '1'],
      )
      for (const dropped of ['set-cookie', 'alt-svc', 'x-sallyport-error'])
        assert.equal(sent.headers[dropped], undefined)
      assert.deepEqual(sent.trailers['x-sum'], '7 [REDACTED]')
      const head = await send('/things', { method: 'HEAD' })
      assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '1234', ''])
      assert.deepEqual([(await send('/nothing')).status, (await send('/missing')).text], [204, 'not here'])
      const found = await send('/things', {
        method: 'PROPFIND',
        headers: { depth: '1', 'content-type': ';' },
        body: '<a/>',
      })
      assert.equal(found.text, 'PROPFIND /things <a/>')
    })
  }
})
