import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { tunnelledRoute } from '../platform/http/tunnelled.ts'
import { operationIds } from './operation-ids.ts'
import { generateReference } from './openapi-routes.ts'

interface Operation {
  operationId?: string
  requestBody?: { required?: boolean; content: Record<string, { schema: object; example?: object }> }
  summary?: string
  tags?: string[]
  security: Record<string, unknown[]>[]
  parameters?: { name: string; in: string; required?: boolean }[]
  responses: Record<string, { description?: string; content?: Record<string, { schema: any }> }>
}

async function operationsOf(service: TestService) {
  const { body } = await service.call('GET', '/openapi.json')
  return Object.entries<Record<string, Operation>>(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, name: `${method} ${path}`, operation })),
  )
}

/** Of answers that are not JSON. */
const otherForms: Record<string, string> = {
  '/v4/events': 'text/event-stream',
  '/v4/gateway/ca.pem': 'application/x-pem-file',
}

onBothDatabases('the reference', (engine) => {
  test('is an OpenAPI 3.1 document of interface version 4.0.0', async (t) => {
    const service = await startService(t, engine)
    const { status, body, headers } = await service.call('GET', '/openapi.json')
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^application\/json/)
    assert.match(body.openapi, /^3\.1\.\d+$/)
    assert.deepEqual([body.info.title, body.info.version], ['Sallyport', '4.0.0'])
    assert.deepEqual(body.servers, [{ url: 'http://localhost:8787' }])
    const { agent, user, device, admin, cookie } = body.components.securitySchemes
    for (const scheme of [agent, user, device, admin])
      assert.deepEqual([scheme.type, scheme.scheme], ['http', 'bearer'])
    assert.deepEqual([cookie.type, cookie.in, cookie.name], ['apiKey', 'cookie', 'svc_session'])
  })

  test('is the same when it is generated at the start', async (t) => {
    const { app, call } = await startService(t, engine)
    const { text } = await call('GET', '/openapi.json')
    generateReference(app.http)
    assert.equal(JSON.stringify(app.http.swagger()), text)
  })

  test('describes for every operation its effect, callers, responses and errors', async (t) => {
    const service = await startService(t, engine)
    const operations = await operationsOf(service)
    assert.ok(operations.length > 20)
    const refusals = new Set<string>()
    const { schemas } = (await service.call('GET', '/openapi.json')).body.components
    for (const { name, path, operation } of operations) {
      assert.match(path, /^\/v\d\//, name)
      assert.ok(operation.summary && operation.tags?.length === 1, name)
      for (const one of operation.security) {
        for (const scheme of Object.keys(one)) {
          assert.ok(['agent', 'tool', 'user', 'cookie', 'device', 'admin'].includes(scheme), name)
        }
      }
      const { default: refused, ...answers } = operation.responses
      assert.equal(refused?.description, 'Error')
      refusals.add(JSON.stringify(refused.content?.['application/json']?.schema))
      // A redirect says where it leads, and has no body; a stream of events is no JSON.
      // A proxied call is made, or waits for a person.
      assert.match(Object.keys(answers).join(), path === '/v4/proxy' ? /^200,202$/ : /^(?:20[01]|302)$/, name)
      for (const [status, { description, content }] of Object.entries(answers)) {
        assert.ok(description && description !== 'Default Response', name)
        const [form] = Object.keys(content ?? {})
        assert.ok(status === '302' ? description : content?.[form ?? '']?.schema, name)
        assert.equal(form, status === '302' ? undefined : (otherForms[path] ?? 'application/json'), name)
      }
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
      const named = operation.parameters?.filter((one) => one.in === 'path' && one.required).map((one) => one.name)
      assert.deepEqual(named ?? [], inPath, name)
    }
    assert.equal(refusals.size, 1, 'errors have one shape')
    assert.match([...refusals].join(), /schemas\/ErrorBody/)
    assert.match(JSON.stringify(schemas.ErrorBody), /request_id/)
  })

  test('names every operation and the schemas of the protocol, each once', async (t) => {
    const service = await startService(t, engine)
    const operations = await operationsOf(service)
    const ids = operations.map(({ operation }) => operation.operationId)
    assert.deepEqual(
      operations.filter((_one, index) => !/^[a-z][A-Za-z]+$/.test(ids[index] ?? '')).map(({ name }) => name),
      [],
    )
    assert.equal(new Set(ids).size, ids.length)
    assert.deepEqual(
      Object.keys(operationIds).filter(
        (known) => !operations.some(({ name }) => name === known.replace(/^\w+/, (method) => method.toLowerCase())),
      ),
      [],
      'of operations that are gone',
    )
    const { text, body } = await service.call('GET', '/openapi.json')
    const { schemas } = body.components
    for (const name of ['Grant', 'AccessRequest', 'ProxyBody', 'ProxyReply', 'Connection', 'AuditRecord', 'ErrorBody'])
      assert.ok(schemas[name], name)
    const referred = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = '']) => name)
    assert.deepEqual(new Set(referred), new Set(Object.keys(schemas)))
    assert.ok(text.length < 350_000, 'it would be twice as long if the schemas stood everywhere')
  })

  test('has an example that the schema accepts wherever a body is required', async (t) => {
    const service = await startService(t, engine)
    const { body } = await service.call('GET', '/openapi.json')
    const validators = new Ajv({ strict: false, formats: { 'date-time': true } }).addSchema(body, 'reference')
    for (const { name, path, method, operation } of await operationsOf(service)) {
      const { required, content } = operation.requestBody ?? {}
      const { example } = content?.['application/json'] ?? {}
      assert.ok(example !== undefined || !required, name)
      if (example === undefined) continue
      const pointer = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']
      const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      const isValid = validators.getSchema(`reference#/${escaped.join('/')}`)
      assert.ok(isValid?.(example), `${name}: ${JSON.stringify(isValid?.errors)}`)
    }
  })

  test('contains only operations that exist', async (t) => {
    const service = await startService(t, engine)
    await service.app.gateway.listen(0)
    for (const { name, path, method, operation } of await operationsOf(service)) {
      const token = 'admin' in (operation.security[0] ?? {}) ? service.adminToken : undefined
      const { status, body } = await service.call(method.toUpperCase(), path.replace(/\{\w+\}/, 'none'), { token })
      const code = body?.error?.code as string | undefined
      assert.ok(status !== 405 && status !== 500 && (status !== 404 || path.includes('{id}')), `${name} ${code}`)
    }
  })

  test('contains every operation under /v4', async (t) => {
    const service = await startService(t, engine)
    const routes: string[] = []
    for (const line of service.app.http.printRoutes({ commonPrefix: false }).split('\n')) {
      const [, path, methods = ''] = /── (\/v4\S*) \(([^)]*)\)/.exec(line) ?? []
      // Another server's API has no place in ours: the description of POST /v4/proxy leads there.
      if (path === undefined || path.startsWith('/v4/proxy/') || path === tunnelledRoute) continue
      const documented = methods.split(', ').filter((method) => method !== 'HEAD')
      routes.push(...documented.map((method) => `${method.toLowerCase()} ${path.replace(':id', '{id}')}`))
    }
    const names = (await operationsOf(service)).map(({ name }) => name)
    assert.deepEqual(
      routes.filter((route) => !names.includes(route)),
      [],
    )
  })

  test('is readable by anyone, and so is its page', async (t) => {
    const service = await startService(t, engine)
    const { status, headers } = await service.call('GET', '/docs')
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^text\/html/)
  })
})
