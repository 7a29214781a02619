import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grant } from '../grants/grant.ts'
import type { ServiceError } from '../platform/errors.ts'
import { judgeUrl } from './destination.ts'
import { possibleMethods, searchLongBody } from './method-overrides.ts'
import { sliceLength } from './parameters.ts'
import type { HeaderList } from './upstream.ts'

const target = { destination: judgeUrl('https://api.example.com/', undefined), method: 'POST' }

type Limit = Grant['allowedMethods']

function meant(query: string, headers: HeaderList = [], body?: string | Buffer, limit: Limit = ['POST']): string[] {
  const destination = judgeUrl(`https://api.example.com/${query}`, undefined)
  const call = { destination, method: 'POST', headers, body: body === undefined ? undefined : Buffer.from(body) }
  return possibleMethods(call, limit !== null).slice(1)
}

const form: HeaderList = [['content-type', 'application/x-www-form-urlencoded']]
const json: HeaderList = [['content-type', 'application/json; charset=utf-8']]
const parts: HeaderList = [['content-type', 'multipart/form-data; boundary=x']]

function refuses(code: string, field: string, ...call: Parameters<typeof meant>): void {
  const isIt = (error: ServiceError) => error.code === code && error.field === field
  assert.throws(() => meant(...call), isIt, JSON.stringify(call))
}

test('a header that overrides the method counts as that method', () => {
  for (const name of [
    'x-http-method-override',
    'x-http-method',
    'x-method-override',
    'x_http_method_override',
    'x-http_method-override',
  ]) {
    assert.deepEqual(meant('', [[name, ' delete ']]), ['DELETE'], name)
  }
  assert.deepEqual(meant('', [['x-http-method', 'GET, DELETE']]), ['GET', 'DELETE'])
  assert.deepEqual(
    meant('', [
      ['x-method', 'DELETE'],
      ['x-http-methods', 'a'],
      ['access-control-request-method', 'PUT'],
    ]),
    [],
  )
})

test('a parameter that overrides the method counts, however its name is written', () => {
  for (const query of [
    '_method=delete',
    'a=1&_method=DELETE',
    'a=1;_method=DELETE',
    '_METHOD=DELETE',
    '_HttpMethod=DELETE',
    '_verb=DELETE',
    'x-http-method-override=DELETE',
    '%5fmethod=DELETE',
    '_%6dethod=DELETE',
    '_m%45thod=%44ELETE',
    '.method=DELETE',
    '%2Emethod=DELETE',
    '+_method=DELETE',
    '%20_method=DELETE',
    '_method%00x=DELETE',
    '_method[]=DELETE',
    '_method%5B0%5D=DELETE',
    '[method=DELETE',
    '{&_method=DELETE',
    ' [&_method=DELETE&]',
    `${'+'.repeat(300)}_method=DELETE`,
    `a=1&${'%20'.repeat(100)}_method=DELETE`,
    '_method[%00=DELETE',
    '$httpMethod=DELETE',
    '%24http%4dethod=DELETE',
    'x-http-method-overrid%u0065=DELETE',
  ]) {
    assert.deepEqual(meant(`?${query}`), ['DELETE'], query)
    assert.deepEqual(meant('', form, query), ['DELETE'], query)
    assert.deepEqual(meant('', [], query), ['DELETE'], `${query} without a type`)
  }
  assert.deepEqual(meant('?_method'), [''])
  assert.deepEqual(meant('', form, '_method\u0000x=DELETE'), ['DELETE'])
  assert.deepEqual(meant('', form, `_method=${'POST,'.repeat(50)}DELETE`), [''], 'longer than any list of methods')
  for (const query of [
    'method=flickr.photos.search',
    'my_method=DELETE',
    '_methods=1',
    'a=_method',
    'payment_method=x',
  ]) {
    assert.deepEqual(meant(`?${query}`), [], query)
  }
})

test('a form field or JSON member that overrides the method counts', () => {
  const part = (name: string) => `--x\r\nContent-Disposition: form-data; ${name}\r\nX: y\r\n\r\nDELETE\r\n--x--`
  for (const name of [
    'name="_method"',
    'name=_method',
    'NAME="_Method"',
    "name*=utf-8''%5Fmethod",
    'filename="a"; name="_method"',
    "name='_method'",
    `name="${' '.repeat(300)}_method"`,
    'name="_method[]"',
  ]) {
    assert.deepEqual(meant('', parts, part(name)), ['DELETE'], name)
  }
  assert.deepEqual(meant('', parts, part('name="method"')), [])
  for (const text of [
    '{"_method":"DELETE"}',
    '\ufeff {"a":{"b":[1]},"_method" : "delete"}',
    '[{"_method":"DELETE"}]',
    '{"\\u005f\\u006Dethod":"\\u0044ELETE"}',
    '{"_HttpMethod":"DELETE"}',
    '{"a":"b\\u0022 \\u0022c\\u0022:","_method":"DELETE"}',
    '{"a":"\\"b\\":","_method":"DELETE"}',
  ]) {
    assert.deepEqual(meant('', json, text), ['DELETE'], text)
  }
  assert.deepEqual(meant('', json, Buffer.from('{"_method":"DELETE"}', 'utf16le')), ['DELETE'])
  assert.deepEqual(meant('', json, '{"text":"say _method=DELETE","method":"DELETE"}'), [])
  assert.deepEqual(meant('', json, '{"_methods":"DELETE","a_method":"DELETE"}'), [])
  assert.deepEqual(meant('', json, '{"_method":"DELETE"}', null), [], 'nothing is limited')
  assert.deepEqual(meant('', [['content-type', 'image/png']], '_method=DELETE'), [])
  for (const type of [';', ',a', 'form', '/', '; charset=utf-8']) {
    assert.deepEqual(meant('', [['content-type', type]], '_method=DELETE'), ['DELETE'], `${type} is no type`)
  }
})

test('with limited methods an unreadable body is refused', () => {
  const gzip: HeaderList = [['content-encoding', 'gzip']]
  for (const type of [form, json, parts, []]) {
    refuses('method_not_allowed', 'headers.content-encoding', '', [...type, ...gzip], 'x')
    assert.deepEqual(meant('', [...type, ['content-encoding', 'identity']], 'x'), [])
    assert.deepEqual(meant('', [...type, ...gzip], 'x', null), [])
  }
  refuses('method_not_allowed', 'headers.content-encoding', '', [...form, ['content_encoding', 'br']], 'x')
  for (const charset of ['ibm037', 'utf-7', 'utf-16', '"ibm500"', 'utf-8x']) {
    const type: HeaderList = [['content-type', `application/x-www-form-urlencoded; CharSet=${charset}`]]
    refuses('method_not_allowed', 'headers.content-type', '', type, 'x')
  }
  assert.deepEqual(meant('', [['content-type', 'image/png'], ...gzip], 'x'), [])
})

test('a credential of the caller’s own is refused in a query and in a form', () => {
  for (const name of [
    'access_token',
    'Access_Token',
    'oauth_token',
    'bearer_token',
    'access%5ftoken',
    'access.token',
    'access_token[]',
    '$httpHeaders',
    '%24httpheaders',
  ]) {
    for (const limit of [null, ['POST']]) {
      refuses('invalid_field', 'url', `?a=1&${name}=x`, [], undefined, limit)
      refuses('invalid_field', 'body', '', form, `a=1&${name}=x`, limit)
      refuses('invalid_field', 'body', '', [], `${name}=x`, limit)
    }
  }
  assert.deepEqual(meant('?key=1&page_token=2&token=3&my_access_token=4&q=access_token'), [])
  assert.deepEqual(meant('', json, '{"access_token":"x"}'), [])
})

test('a body crafted to be slow is checked quickly', () => {
  const judge = (start: string, pump: string, bytes: number) => {
    const before = process.cpuUsage()
    // Without a type it is read in every way.
    assert.deepEqual(meant('', [], start + pump.repeat(bytes / pump.length)), [])
    assert.ok(process.cpuUsage(before).user < 3_000_000, start + pump)
  }
  const names = ['_method', ' name', '"_method"', '&', '%5f', '&%61', ' name="', '"a":"",', "''_method", `='a'"_method`]
  for (const pump of names) judge('method{', pump, 1_000_000)
  // As many as fit into a body: V8 has no room for so many rounds of a loop.
  for (const start of [';name=', ';name="', '&', '"_method"']) judge(`method ${start}`, ' ', 10_000_000)
  judge('method ;name="', '%20', 10_000_000)
})

test('a body with very many method overrides is refused', () => {
  for (const [type, text] of [
    [form, '&_method=POST'],
    [json, ',"_method":"POST"'],
    [parts, ' name=_method'],
  ] as const) {
    assert.equal(meant('', type, text.repeat(100)).length, 100)
    refuses('invalid_field', 'body', '', type, text.repeat(101))
  }
  refuses('invalid_field', 'url', `?${'&_method=POST'.repeat(101)}`)
})

test('a long body is searched in slices, with the same result', async () => {
  const names = ['_method=DELETE', '%5fmethod=PUT', '_me%74hod=PATCH', 'a=1', 'x'.repeat(1000), ' '.repeat(3000), '&']
  for (let length = 0; length < 140; length += 7) {
    // The names stand at, and across, the ends of slices.
    const filler = 'x'.repeat(sliceLength - 140 + length)
    const body = [...names, filler, ...names, filler, ...names].join('&')
    const call = { headers: form, body: Buffer.from(body) }
    const atOnce = possibleMethods({ ...call, body: Buffer.from(body), ...target }, true)
    assert.equal(atOnce.length, 10)
    await searchLongBody(call.headers, call.body, true)
    assert.deepEqual(possibleMethods({ ...call, ...target }, true), atOnce)
  }
})

test('a long body with too many method overrides is refused', async () => {
  const call = { headers: form, body: Buffer.from('_method=PUT&'.repeat(sliceLength)) }
  await searchLongBody(call.headers, call.body, true)
  assert.throws(() => possibleMethods({ ...call, ...target }, true), { code: 'invalid_field', field: 'body' })
})
