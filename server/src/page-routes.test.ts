import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { startService } from '../testkit/service.ts'
import { replyWithError } from './platform/http/error-replies.ts'
import { pageRoutes } from './page-routes.ts'

test('pages that were not built say how to build them', async (t) => {
  const http = fastify()
  t.after(() => http.close())
  http.setErrorHandler(replyWithError)
  pageRoutes(http, '/nowhere')
  for (const path of ['/', '/approve-proxy/x', '/connections/new', '/authenticator']) {
    const answer = await http.inject(path)
    assert.equal(answer.statusCode, 404)
    assert.match(answer.json().error.message, /npm run build/, path)
  }
})

test('an unknown URL is a page in a browser and an API error for programs', async (t) => {
  const { call } = await startService(t, 'sqlite')
  const open = async (path: string, accept: string, method: 'GET' | 'POST' = 'GET') => {
    const { status, headers } = await call(method, path, { headers: { accept } })
    return [status, String(headers['content-type']).split(';', 1)[0]]
  }
  const browser = 'text/html,application/xhtml+xml,*/*;q=0.8'
  const json = 'application/json'
  assert.deepEqual(await open('/conections', browser), [404, 'text/html'])
  assert.deepEqual(await open('/nothing/at/all?x=1', browser), [404, 'text/html'])
  for (const accept of [json, '*/*']) assert.deepEqual(await open('/conections', accept), [404, json])
  for (const path of ['/v4/nothing', '/v9', '/assets/none.js']) assert.deepEqual(await open(path, browser), [404, json])
  assert.deepEqual(await open('/v4/proxy', browser), [405, json])
  assert.deepEqual(await open('/conections', browser, 'POST'), [404, json])
})
