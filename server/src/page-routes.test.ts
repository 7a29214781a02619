import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { replyWithError } from './platform/http/error-replies.ts'
import { pageRoutes } from './page-routes.ts'

test('where the pages were not built, each says how they are', async (t) => {
  const http = fastify()
  t.after(() => http.close())
  http.setErrorHandler(replyWithError)
  await pageRoutes(http, '/nowhere')
  for (const path of ['/', '/approve-proxy/x', '/connections/new', '/authenticator']) {
    const answer = await http.inject(path)
    assert.equal(answer.statusCode, 404)
    assert.match(answer.json().error.message, /npm run build/, path)
  }
})
