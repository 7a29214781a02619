import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { startService } from './running-service.ts'

const root = resolve(import.meta.dirname, '..')

interface Row {
  what: string
  file: string
  name: string
}

const rows: Row[] = readFileSync(resolve(import.meta.dirname, 'spec-coverage.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|[\s-]*\|[\s-]*\|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, what = '', file = '', name = '']) => ({ what, file, name }))
  .filter(({ file }) => file !== 'file')

/** `POST, PUT /path` speaks of two. */
const endpoints = new Map(
  rows.flatMap((row) => {
    const [, methods = '', path = ''] = /^([A-Z, ]+) (\/v\d\S+)$/.exec(row.what) ?? []
    return methods === '' ? [] : methods.split(', ').map((method): [string, Row] => [`${method} ${path}`, row])
  }),
)

test('every test that the coverage names exists', () => {
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

test('every error code of the v1 contract has a row', () => {
  const v1 = readFileSync(resolve(root, 'docs/spec/legacy-v1.md'), 'utf8')
  const codes = [...v1.slice(v1.indexOf('## Errors')).matchAll(/^\| ([a-z_]+) \|/gm)].map(([, code]) => code)
  assert.equal(codes.length, 12)
  assert.deepEqual(
    codes.filter((code) => !rows.some(({ what }) => what === `Error: ${code}`)),
    [],
  )
})

test('every endpoint that the service serves is held by a test', async (t) => {
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
