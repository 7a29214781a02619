/**
 * The baseline: the simplest relay that one would write with the same libraries. It takes the same
 * call and returns a response of the same shape, without authentication, checks, records or redaction.
 */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { Agent, request } from 'undici'

interface Call {
  method: 'GET' | 'POST'
  url: string
  headers?: Record<string, string>
  stream?: boolean
}

process.on('disconnect', () => process.exit())
const [caFile = ''] = process.argv.slice(2)
const dispatcher = new Agent({ connect: { ca: readFileSync(caFile) }, allowH2: false })
const app = Fastify({ bodyLimit: 10_485_760 })

app.post<{ Body: Call }>('/v4/proxy', async ({ body: call }, reply) => {
  const { method, url, headers = {} } = call
  const answer = await request(url, { method, headers, dispatcher })
  if (call.stream === true) return reply.code(answer.statusCode).headers(answer.headers).send(answer.body)
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: await answer.body.json(),
    body_encoding: 'json',
    redactions: 0,
    dropped_headers: [],
    audit_id: 'none',
  }
})

await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ port: (app.server.address() as AddressInfo).port })
