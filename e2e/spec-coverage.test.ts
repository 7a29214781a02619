import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { startService } from './running-service.ts'
import { mutations } from './spec-mutations/mutations.ts'
import { rows } from './spec-rows.ts'
import type { Row } from './spec-rows.ts'

const root = resolve(import.meta.dirname, '..')

/** `POST, PUT /path` means two endpoints. */
const endpoints = new Map(
  rows.flatMap((row) => {
    const [, methods = '', path = ''] = /^([A-Z, ]+) (\/v\d\S+)$/.exec(row.what) ?? []
    return methods === '' ? [] : methods.split(', ').map((method): [string, Row] => [`${method} ${path}`, row])
  }),
)

test('every test in the coverage table exists', () => {
  assert.ok(rows.length > 100)
  const texts = new Map<string, string>()
  const missing = rows
    .filter(({ file }) => file !== 'open')
    .filter(({ file, name }) => {
      const path = resolve(root, file)
      const text = texts.get(file) ?? (existsSync(path) ? readFileSync(path, 'utf8').replace(/\(\s+/g, '(') : '')
      texts.set(file, text)
      const opened = ['test(', 'inBrowser('].flatMap((call) => ["'", '"', '`'].map((quote) => [call + quote, quote]))
      return name === '' || !opened.some(([start, quote]) => text.includes(`${start}${name}${quote}`))
    })
  assert.deepEqual(missing, [])
})

test('every row has a mutation, and each mutation matches the sources', () => {
  const table = 'the tables of e2e/spec-mutations/'
  const problems = rows
    .filter(({ what }) => !mutations.some(({ row }) => row === what))
    .map(({ what }) => `the row "${what}" has no mutation: add one that breaks it to ${table}`)
  for (const mutation of mutations) {
    const { row } = mutation
    if (!rows.some(({ what }) => what === row)) {
      problems.push(`there is no row "${row}": rename or remove its mutation in ${table}`)
    }
    for (const { file, from } of [mutation, ...(mutation.also ? [mutation.also] : [])]) {
      const path = resolve(root, file)
      const times = existsSync(path) ? readFileSync(path, 'utf8').split(from).length - 1 : 0
      if (times === 1) continue
      problems.push(
        `the mutation for row "${row}" no longer matches: ${file} holds its text ${times} times instead of once. ` +
          `Update it in ${table}, and see its test fail with: npm run mutate -- --row "${row}"\n${from}`,
      )
    }
  }
  assert.equal(problems.length, 0, problems.join('\n\n'))
})

test('every endpoint of the contracts has a row', () => {
  const v4 = readFileSync(resolve(root, 'docs/spec/api-v4.md'), 'utf8')
  const v1 = readFileSync(resolve(root, 'docs/spec/legacy-v1.md'), 'utf8')
  const wanted = [
    ...[...v4.matchAll(/^\| (GET|POST|PATCH|DELETE) \| (\/v4\S+) \|/gm)].map(([, method, path]) => `${method} ${path}`),
    ...[...v1.matchAll(/^\| (\/v1\S+) \|/gm)].map(([, path]) => `POST ${path}`),
  ]
  assert.ok(wanted.length > 35)
  assert.deepEqual(
    wanted.filter((endpoint) => !endpoints.has(endpoint)),
    [],
  )
})

/** Kinds of callers that an endpoint accepts in addition to the contract's, see docs/decisions/. */
const alsoAdmits: Record<string, string[]> = {
  'GET /v4/access-requests/pending': ['device'],
  'GET /v4/access-requests/{id}': ['device'],
  'POST /v4/access-requests/{id}/approve': ['device'],
  'POST /v4/access-requests/{id}/deny': ['device'],
  'POST /v4/devices/{id}/push-token': ['device'],
  'GET /v4/devices': ['device'],
  'DELETE /v4/devices/{id}': ['device'],
  'POST /v4/grants/{id}/revoke': ['agent'],
  'GET /v4/connections': ['device', 'admin'],
  'GET /v4/auth/me': ['device'],
}

test('every endpoint of the v4 contract has the callers and status of its table', async (t) => {
  const service = await startService(t, 'sqlite')
  const { paths } = (await service.call('GET', '/openapi.json')).body
  const table = readFileSync(resolve(root, 'docs/spec/api-v4.md'), 'utf8').matchAll(
    /^\| (GET|POST|PATCH|DELETE) \| (\/v4\S+) \| ([^|]+) \|.*\| (\d{3}) [^|]*\|$/gm,
  )
  const endpoints = [...table].map(([, method = '', path = '', auth = '', status = '']) => {
    const endpoint = `${method} ${path}`
    const named = auth === 'none' ? [] : auth.replace(' session', '').split(' or ')
    const admits = [...named, ...(alsoAdmits[endpoint] ?? [])].flatMap((one) =>
      one === 'user' ? [one, 'cookie'] : one,
    )
    return { endpoint, admits: admits.sort(), status, served: paths[path]?.[method.toLowerCase()] }
  })
  assert.equal(endpoints.length, 33)
  for (const { endpoint, admits, status, served } of endpoints) {
    const schemes = (served?.security ?? []).flatMap((scheme: object) => Object.keys(scheme)).sort()
    assert.deepEqual(schemes, admits, endpoint)
    assert.ok(status in (served?.responses ?? {}), `${endpoint} answers ${status}`)
  }
})

test('every error code of the v1 contract has a row', () => {
  const v1 = readFileSync(resolve(root, 'docs/spec/legacy-v1.md'), 'utf8')
  const codes = [...v1.slice(v1.indexOf('## Errors')).matchAll(/^\| ([a-z_]+) \|/gm)].map(([, code]) => code)
  assert.equal(codes.length, 12)
  assert.deepEqual(
    codes.filter((code) => !rows.some(({ what }) => what === `Error: ${code}`)),
    [],
  )
})

test('every endpoint that the service serves has a test', async (t) => {
  const service = await startService(t, 'sqlite')
  const { paths } = (await service.call('GET', '/openapi.json')).body
  const served = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.ok(served.length > 15)
  assert.deepEqual(
    served.filter((endpoint) => (endpoints.get(endpoint)?.file ?? 'open') === 'open'),
    [],
  )
})
