import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { defaultTerms } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { ServiceError } from '../platform/errors.ts'
import { judgeUrl } from './destination.ts'
import { bodyChecksFor } from './body-checks.ts'
import { possibleMethods } from './parameters.ts'
import type { HeaderList } from './upstream.ts'

type Limit = Grant['allowedMethods']

function meant(query: string, headers: HeaderList = [], body?: string | Buffer, limit: Limit = ['POST']): string[] {
  const destination = judgeUrl(`https://api.example.com/${query}`, undefined)
  const call = { destination, method: 'POST', headers, body: body === undefined ? undefined : Buffer.from(body) }
  const { parameters } = bodyChecksFor(call, { allowedMethods: limit, ...defaultTerms } as unknown as Grant, undefined)
  return possibleMethods(call, parameters, limit !== null).slice(1)
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
    'opt_method=DELETE',
    'options.method=DELETE',
    'options[method]=DELETE',
    'x-http-method-overrid%u0065=DELETE',
  ]) {
    assert.deepEqual(meant(`?${query}`), ['DELETE'], query)
    assert.deepEqual(meant('', form, query), ['DELETE'], query)
    if (/^\s*[[{]/.test(query)) refuses('method_not_allowed', 'body', '', [], query)
    else assert.deepEqual(meant('', [], query), ['DELETE'], `${query} without a type`)
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

const part = (parameters: string, content = 'DELETE') =>
  `--x\r\nContent-Disposition: form-data; ${parameters}\r\nX: y\r\n\r\n${content}\r\n`

test('a field of a multipart form that overrides the method counts', () => {
  for (const name of [
    'name="_method"',
    'name=_method',
    'NAME="_Method"',
    'filename="a"; name="_method"',
    `name="${' '.repeat(300)}_method"`,
    'name="_method[]"',
  ]) {
    assert.deepEqual(meant('', parts, `${part('name="a"', 'x')}${part(name)}--x--`), ['DELETE'], name)
  }
  assert.deepEqual(meant('', parts, `${part('name="method"')}--x--`), [])
  assert.deepEqual(
    meant('', parts, `${part('name="file"; filename="a.eml"', `\r\n${part('name="_method"', 'x').slice(3)}`)}--x--`),
    [],
  )
})

test('with limited methods a multipart body that parsers read differently is refused', () => {
  const ordinary = `${part('name="a"', 'x')}--x--`
  assert.deepEqual(meant('', parts, ordinary), [])
  for (const name of [
    "name*=utf-8''%5Fmethod",
    'name="a"; name="_method"',
    'name="a\\"; name=\\"_method"',
    'name*0="_me"; name*1="thod"',
    "name='_method'",
    'name==_method',
    `a='; b="'; name=_method; c="`,
  ]) {
    refuses('method_not_allowed', 'body', '', parts, `${part(name)}--x--`)
  }
  for (const text of [
    ordinary.replace('--x--', ''),
    part('name="_method"'),
    ordinary.replaceAll('--x', '--y'),
    '_method=DELETE',
  ]) {
    refuses('method_not_allowed', 'body', '', parts, text)
    assert.deepEqual(meant('', parts, text, null), [])
  }
  for (const type of [
    'multipart/form-data',
    'multipart/form-data; boundary=x; boundary=y',
    'multipart/form-data; boundary=y; boundary*=x',
    'multipart/form-data; boundary="x\\y"',
  ]) {
    refuses(
      'method_not_allowed',
      /\*|\\/.test(type) ? 'headers.content-type' : 'body',
      '',
      [['content-type', type]],
      ordinary,
    )
  }
  // What PHP would take for the boundary is y.
  const hidden = `--x\r\n\r\n${part('name="_method"').replace('--x', '--y')}--y--\r\n--x--`
  for (const type of [
    'multipart/form-data; xboundary=y; boundary=x',
    'multipart/form-data; a="boundary=y"; boundary=x',
    'multipart/form-data; Boundary=x; aboundary=y',
    'multipart/form-data; boundary=x, text/plain; boundary=y',
    'multipart/form-data, boundary=y',
    'multipart/form-data boundary=y',
  ]) {
    for (const text of [hidden, `junk\r\n${hidden}`]) {
      assert.throws(() => meant('', [['content-type', type]], text), { code: 'method_not_allowed' }, type)
    }
  }
  const named = part('name="_method"').replace('--x', '--my-boundary')
  assert.deepEqual(
    meant('', [['content-type', 'multipart/form-data; boundary=my-boundary']], `${named}--my-boundary--`),
    ['DELETE'],
  )
  const nested = `--x\r\nContent-Type: multipart/form-data; boundary=y\r\n\r\n${part('name="_method"').replace('--x', '--y')}--y--\r\n--x--`
  refuses('method_not_allowed', 'body', '', parts, nested)
  refuses('method_not_allowed', 'headers.content-type', '', [], ordinary)
})

test('a JSON member that overrides the method counts', () => {
  for (const text of [
    '{"_method":"DELETE"}',
    '\ufeff {"a":{"b":[1]},"_method" : "delete"}',
    '[{"_method":"DELETE"}]',
    '{"options":{"method":"delete"}}',
    '{"data":{},"Options":{"method":"DELETE"}}',
    '{"\\u005f\\u006Dethod":"\\u0044ELETE"}',
    '{"_HttpMethod":"DELETE"}',
    '{"_method\\u0000":"DELETE"}',
    '{"_method[]":"DELETE"}',
    '{"a":"b\\u0022 \\u0022c\\u0022:","_method":"DELETE"}',
    '{"a":"\\"b\\":","_method":"DELETE"}',
  ]) {
    assert.deepEqual(meant('', json, text), ['DELETE'], text)
    assert.deepEqual(meant('', [], text), ['DELETE'], `${text} without a type`)
  }
  assert.ok(meant('', json, '{"_method":["DELETE"]}').includes('DELETE'))
  const compressed: HeaderList = [...json, ['content-encoding', 'gzip']]
  assert.deepEqual(meant('', compressed, gzipSync('{"_method":"DELETE"}')), ['DELETE'])
  assert.deepEqual(meant('', compressed, gzipSync('{"a":"_method"}')), [])
  assert.deepEqual(meant('', json, '{"text":"say _method=DELETE","method":"DELETE"}'), [])
  assert.deepEqual(meant('', json, '{"text":"{\\"_method\\":\\"DELETE\\"}"}'), [])
  assert.deepEqual(meant('', json, '{"_methods":"DELETE","a_method":"DELETE","_method":null}'), [])
  assert.deepEqual(meant('', json, '{"_method":"DELETE"}', null), [], 'nothing is limited')
  assert.deepEqual(meant('', [['content-type', 'image/png']], '_method=DELETE'), [])
  for (const type of [';', ',a', 'form', '/', '; charset=utf-8', 'image/png, application/json', 'image/png x']) {
    assert.deepEqual(meant('', [['content-type', type]], '_method=DELETE'), ['DELETE'], `${type} is no type`)
  }
})

test('a type in which some framework finds JSON counts as JSON, and two types as either', () => {
  for (const type of ['text/x+json', 'application/json5', 'text/plain; a=application/json', 'image/png; a="x+json"']) {
    assert.deepEqual(meant('', [['content-type', type]], '{"_method":"DELETE"}'), ['DELETE'], type)
  }
  const two: HeaderList = [
    ['content-type', 'text/plain; a=b'],
    ['content_type', 'application/x-www-form-urlencoded'],
  ]
  for (const text of ['_method=DELETE', '{"_method":"DELETE"}', '{"a":"&_method=DELETE&"}']) {
    assert.throws(() => meant('', two, text), { code: 'method_not_allowed' })
    assert.deepEqual(meant('', two.toReversed(), text), ['DELETE'])
  }
  assert.deepEqual(meant('', [['content-type', 'text/plain']], '{"_method":"DELETE"}'), [])
})

test('with limited methods JSON that parsers read differently is refused', () => {
  for (const body of [
    '{"_method":"POST","_method":"DELETE"}',
    '{"a":{"b":1,"\\u0062":2}}',
    '{} {"_method":"DELETE"}',
    '{}\u0000',
    '{/* a */"_method":"DELETE"}',
    "{'_method':'DELETE'}",
    '{"_method":"DELETE"',
    '['.repeat(1000),
    Buffer.from('{"_method":"DELETE"}', 'utf16le'),
    Buffer.from('\ufeff{"_method":"DELETE"}', 'utf16le').swap16(),
    Buffer.from('{"_meth\xefd":"DELETE"}', 'latin1'),
    '+AHsAIgBf-method+ACIAOg',
  ]) {
    refuses('method_not_allowed', 'body', '', json, body)
    assert.deepEqual(meant('', json, body, null), [])
  }
})

test('with limited methods an unreadable body is refused', () => {
  const gzip: HeaderList = [['content-encoding', 'gzip']]
  for (const type of [form, json, parts, []]) {
    refuses('method_not_allowed', 'headers.content-encoding', '', [...type, ...gzip], 'x')
    const plain = type === json ? '{}' : type === parts ? '--x--' : 'x'
    assert.deepEqual(meant('', [...type, ['content-encoding', 'identity']], plain), [])
    assert.deepEqual(meant('', [...type, ...gzip], 'x', null), [])
  }
  // A server that ignores the encoding would find the form in the bytes.
  for (const type of [form, parts])
    refuses('method_not_allowed', 'headers.content-encoding', '', [...type, ...gzip], gzipSync('a=1'))
  refuses(
    'method_not_allowed',
    'headers.content-encoding',
    '',
    [...json, ...gzip, ['content_encoding', 'gzip']],
    gzipSync('{}'),
  )
  refuses('body_not_inspectable', 'body', '', [...json, ...gzip], gzipSync(Buffer.alloc(1_048_577, ' ')))
  refuses('method_not_allowed', 'headers.content-encoding', '', [...form, ['content_encoding', 'br']], 'x')
  const charsets = [
    'ibm037',
    'utf-7',
    'utf-16',
    '"ibm500"',
    'utf-8x',
    'utf-8; charset=utf-16',
    'utf-8; charset*=utf-16',
    "utf-8; charset*0='utf-16'",
  ]
  for (const charset of [...charsets, 'utf-8, text/plain; charset=utf-7']) {
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

test('no body of 1 MiB takes long to be checked', () => {
  const judge = (type: HeaderList, start: string, pump: string) => {
    const body = Buffer.alloc(1_048_576, pump)
    body.write(start)
    const before = process.cpuUsage()
    try {
      meant('', type, body)
    } catch (error) {
      assert.ok((error as ServiceError).code)
    }
    assert.ok(process.cpuUsage(before).user < 700_000, JSON.stringify(start + pump))
  }
  const names = [
    '_method',
    ' name',
    '"_method"',
    '&',
    '%5f',
    '&%61',
    '%20',
    ' name="',
    '"a":"",',
    '&_method[',
    '+',
    '{"_method":',
  ]
  for (const pump of names) {
    for (const type of [form, json, parts, []]) judge(type, 'method&', pump)
  }
  for (const start of ['--x\r\n', '--x\r\nContent-Disposition: form-data; name="', '[']) {
    for (const type of [json, parts, []]) judge(type, start, ' ')
  }
})

test('a body with very many method overrides is refused', () => {
  const members = (count: number) => JSON.stringify(Array.from({ length: count }, () => ({ _method: 'POST' })))
  for (const [type, text] of [
    [form, (count: number) => '&_method=POST'.repeat(count)],
    [json, members],
    [parts, (count: number) => `${part('name=_method', 'POST').repeat(count)}--x--`],
  ] as const) {
    assert.equal(meant('', type, text(100)).length, 100)
    refuses('invalid_field', 'body', '', type, text(101))
  }
  refuses('invalid_field', 'url', `?${'&_method=POST'.repeat(101)}`)
})
