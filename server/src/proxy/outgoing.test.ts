import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { ServiceError } from '../platform/errors.ts'
import { outgoing } from './outgoing.ts'
import type { OutgoingRules } from './outgoing.ts'
import type { GivenRequest } from './outgoing.ts'
import type { HeaderList } from './upstream.ts'

const usual: OutgoingRules = { injects: ['authorization'], ranges: 'drop' }

function sent(given: Partial<GivenRequest>, rules: Partial<typeof usual> = {}) {
  const whole = { headers: {}, body: undefined, bodyBase64: undefined, method: 'POST', ...given }
  return outgoing(whole, { ...usual, ...rules })
}

function refuses(given: Partial<GivenRequest>, field: string): void {
  const isIt = (error: ServiceError) => error.code === 'invalid_field' && error.field === field
  assert.throws(() => sent(given), isIt, `${JSON.stringify(given).slice(0, 200)} names ${field}`)
}

test('credentials, framing, origin, ranges and encodings of the caller are dropped and named', () => {
  const dropped = [
    'a-im',
    'accept-encoding',
    'authorization',
    'cf-connecting-ip',
    'connection',
    'content-length',
    'cookie',
    'cookie2',
    'expect',
    'forwarded',
    'host',
    'http2-settings',
    'if-range',
    'keep-alive',
    'proxy-authorization',
    'proxy-connection',
    'range',
    'request-range',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'via',
    'x-api-key',
    'x-forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-anything',
    'x-http-host-override',
    'x-original-url',
    'x-real-ip',
    'x-rewrite-url',
  ]
  for (const spell of [(name: string) => name, (name: string) => name.toUpperCase()]) {
    const headers = Object.fromEntries(dropped.map((name) => [spell(name), 'value']))
    assert.deepEqual(sent({ headers: { ...headers, 'X-Mine': 'stays' } }, { injects: ['x-api-key'] }), {
      headers: [['x-mine', 'stays']],
      dropped,
      body: undefined,
    })
  }
})

test('a dropped header is also dropped with underscores for hyphens', () => {
  const names = ['x_api_key', 'Content_Length', 'TRANSFER_ENCODING', 'x_forwarded_for', 'X-Forwarded_Host', 'proxy_x']
  const headers = Object.fromEntries(names.map((name) => [name, 'value']))
  const expected = { headers: [], dropped: names.map((name) => name.toLowerCase()), body: undefined }
  assert.deepEqual(sent({ headers }, { injects: ['x-api-key'] }), expected)
  assert.deepEqual(sent({ headers: { 'x-key': '1' } }, { injects: ['x-key'] }).dropped, ['x-key'])
})

test('a header that only resembles a dropped one is sent', () => {
  const headers = { 'x-authorization': '1', 'x-forward': '2', proxy: '3', accept: '4', 'x-api-key': '5', ranges: '6' }
  assert.deepEqual(sent({ headers }), { headers: Object.entries(headers), dropped: [], body: undefined })
})

test('ranges are sent if the provider allows them', () => {
  const headers = { range: 'bytes=0-9', 'if-range': '"a"', 'x-ms-range': 'bytes=0-9', te: 'trailers' }
  assert.deepEqual(sent({ headers }, { ranges: 'pass' }).dropped, ['te'])
  assert.deepEqual(sent({ headers }).headers, [])
})

test('an invalid header name or value is refused, naming it', () => {
  for (const name of ['', 'a b', 'a:b', ':path', 'a\r\nb', 'a\n', 'ä', 'a\u0000', '(a)', '\u212a', 'x'.repeat(201)]) {
    refuses({ headers: { [name]: 'v' } }, `headers.${name.slice(0, 200)}`)
  }
  for (const value of [
    'a\r\nx-evil: 1',
    'a\nb',
    'a\rb',
    'a\n',
    'a\u0000',
    'a\u007f',
    'ā',
    '\u2028',
    'x'.repeat(8193),
  ]) {
    refuses({ headers: { 'x-a': value } }, 'headers.x-a')
  }
  refuses({ headers: { cookie: 'a\r\nb' } }, 'headers.cookie')
  for (const value of ['', ' ', 'a\tb', 'é', 'x'.repeat(8192)]) {
    assert.deepEqual(sent({ headers: { 'x-a': value } }).headers, [['x-a', value]])
  }
})

test('a repeated header, in any case, is refused', () => {
  refuses({ headers: { 'X-A': '1', 'x-a': '2' } }, 'headers.x-a')
  refuses({ headers: { cookie: '1', Cookie: '2' } }, 'headers.Cookie')
})

test('the total size of headers is limited', () => {
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`h${at}`, 'x'.repeat(8000)]))
  assert.equal(sent({ headers: headers(4) }).headers.length, 4)
  refuses({ headers: headers(5) }, 'headers')
})

test('a string is sent unchanged, anything else as JSON, each with its content type', () => {
  const json: HeaderList = [['content-type', 'application/json']]
  const text: HeaderList = [['content-type', 'text/plain;charset=UTF-8']]
  const cases: [unknown, string, HeaderList][] = [
    ['plain text', 'plain text', text],
    ['a=b&c=d', 'a=b&c=d', text],
    ['7', '7', text],
    ['"quoted"', '"quoted"', text],
    ['{not json}', '{not json}', text],
    ['', '', []],
    ['{"a":1}', '{"a":1}', json],
    [' \n[1, 2]\n', ' \n[1, 2]\n', json],
    [{ a: [1, null, 'é'] }, '{"a":[1,null,"é"]}', json],
    [[], '[]', json],
    [0, '0', json],
    [false, 'false', json],
    [null, 'null', json],
  ]
  for (const [body, expected, headers] of cases) {
    const out = sent({ body })
    assert.deepEqual([out.body?.toString(), out.headers], [expected, headers])
  }
  const own = { 'Content-Type': 'application/vnd.api+json' }
  assert.deepEqual(sent({ body: {}, headers: own }).headers, [['content-type', 'application/vnd.api+json']])
  for (const body of ['text', '{"a":1}', '<a/>']) {
    const typed = sent({ body, headers: { 'content-type': 'application/xml' } })
    assert.deepEqual([typed.body?.toString(), typed.headers], [body, [['content-type', 'application/xml']]])
  }
  assert.equal(sent({}).body, undefined)
})

test('an object is sent as a form if the content type says so, an array as a repeated field', () => {
  const form = (body: unknown, type = 'application/x-www-form-urlencoded') =>
    sent({ body, headers: { 'content-type': type } }).body?.toString()
  assert.equal(
    form({ a: 'x y&z', b: 1, c: true, d: ['1', 2], e: [], 'ä[]': 'é', f: '' }),
    'a=x+y%26z&b=1&c=true&d=1&d=2&%C3%A4%5B%5D=%C3%A9&f=',
  )
  assert.equal(form({ a: '\ud800' }), 'a=%EF%BF%BD')
  assert.equal(form({}), '')
  assert.equal(form('a=b&c', 'APPLICATION/x-www-form-urlencoded'), 'a=b&c')
  assert.equal(form({ a: 1 }, 'Application/X-WWW-Form-URLencoded ; charset=utf-8'), 'a=1')
  assert.equal(form({ a: 1 }, 'application/x-www-form-urlencoded-not'), '{"a":1}')
})

test('a value that a form cannot represent is refused, naming the member', () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  refuses({ headers, body: { a: { b: 1 } } }, 'body.a')
  refuses({ headers, body: { a: null } }, 'body.a')
  refuses({ headers, body: { a: ['1', ['2']] } }, 'body.a.1')
  for (const body of [[], ['a'], 1, true, null]) refuses({ headers, body }, 'body')
})

test('bytes are given in strict base64', () => {
  const bytes = Buffer.from([0, 255, 254, 62])
  assert.deepEqual(sent({ bodyBase64: bytes.toString('base64') }), { headers: [], dropped: [], body: bytes })
  assert.deepEqual(sent({ bodyBase64: '' }).body, Buffer.alloc(0))
  for (const text of [
    'a',
    'AP/+Pg',
    'AP_-Pg==',
    'AP/+Pg=',
    'AP/+ Pg==',
    'AP/+\nPg==',
    'AP/+Ph==',
    'AP/+Pg==x',
    '====',
    'é',
  ]) {
    refuses({ bodyBase64: text }, 'body_base64')
  }
  refuses({ bodyBase64: '', body: '' }, 'body_base64')
  refuses({ bodyBase64: 'AP/+Pg==', body: {} }, 'body_base64')
})

test('a GET or HEAD has no body', () => {
  for (const method of ['GET', 'HEAD']) {
    for (const body of [undefined, null, '']) {
      assert.deepEqual(sent({ method, body }), { headers: [], dropped: [], body: undefined })
    }
    assert.equal(sent({ method, bodyBase64: '' }).body, undefined)
    for (const body of ['GET /evil HTTP/1.1', {}, 0, false]) refuses({ method, body }, 'body')
    refuses({ method, bodyBase64: 'AAAA' }, 'body_base64')
  }
  assert.equal(sent({ method: 'DELETE', body: 'x' }).body?.toString(), 'x')
})

test('an invalid header name is not stored, however long it is', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const held = () => {
    collect()
    // What the engine itself knows of an object's members goes after the object.
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = held()
  for (let index = 0; index < 50; index++) {
    const name = Buffer.alloc(1_000_000, `${index} `).toString('latin1')
    assert.throws(() => sent({ headers: { [name]: 'v' } }))
  }
  assert.ok(held() - before < 10_000_000)
})
