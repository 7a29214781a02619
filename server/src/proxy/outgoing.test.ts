import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../platform/errors.ts'
import { outgoingBody, outgoingHeaders } from './outgoing.ts'
import type { HeaderList } from './upstream.ts'

function refused(field: string) {
  return (error: ServiceError) => error.code === 'invalid_field' && error.field === field
}

test('credentials, framing, origin, ranges and encodings of the caller are dropped and named', () => {
  const dropped = [
    'accept-encoding',
    'authorization',
    'connection',
    'content-length',
    'cookie',
    'expect',
    'forwarded',
    'host',
    'if-range',
    'keep-alive',
    'proxy-authorization',
    'proxy-connection',
    'range',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'via',
    'x-api-key',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-anything',
  ]
  for (const spell of [(name: string) => name, (name: string) => name.toUpperCase()]) {
    const given = Object.fromEntries(dropped.map((name) => [spell(name), 'value']))
    assert.deepEqual(outgoingHeaders({ ...given, 'X-Mine': 'stays' }, 'x-api-key'), {
      headers: [['x-mine', 'stays']],
      dropped,
    })
  }
})

test('what is only like a dropped header is sent', () => {
  const given = { 'x-authorization': '1', 'x-forwarded': '2', proxy: '3', accept: '4', 'x-api-key': '5' }
  assert.deepEqual(outgoingHeaders(given, 'authorization'), { headers: Object.entries(given), dropped: [] })
})

test('a header name or value that no header takes is refused, naming it', () => {
  for (const name of ['', 'a b', 'a:b', 'a\r\nb', 'a\n', 'ä', 'a\u0000', '(a)', 'x'.repeat(201)]) {
    assert.throws(() => outgoingHeaders({ [name]: 'v' }, 'authorization'), refused(`headers.${name}`), name)
  }
  for (const value of ['a\r\nx-evil: 1', 'a\nb', 'a\rb', 'a\n', 'a\u0000', 'a\u007f', 'ā', 'x'.repeat(8193)]) {
    assert.throws(() => outgoingHeaders({ 'x-a': value }, 'authorization'), refused('headers.x-a'), value)
  }
  assert.throws(() => outgoingHeaders({ cookie: 'a\r\nb' }, 'authorization'), refused('headers.cookie'))
  for (const value of ['', ' ', 'a\tb', 'é', 'x'.repeat(8192)]) {
    assert.deepEqual(outgoingHeaders({ 'x-a': value }, 'authorization').headers, [['x-a', value]])
  }
})

test('a string is sent as it is, anything else as JSON that says so', () => {
  const json: HeaderList = [['content-type', 'application/json']]
  const cases: [unknown, string, HeaderList][] = [
    ['plain text', 'plain text', []],
    ['', '', []],
    ['{"a":1}', '{"a":1}', []],
    [{ a: [1, null, 'é'] }, '{"a":[1,null,"é"]}', json],
    [[], '[]', json],
    [0, '0', json],
    [false, 'false', json],
    [null, 'null', json],
  ]
  for (const [body, expected, expectedHeaders] of cases) {
    const headers: HeaderList = []
    assert.equal(outgoingBody(body, headers)?.toString(), expected)
    assert.deepEqual(headers, expectedHeaders)
  }
  const own: HeaderList = [['content-type', 'application/vnd.api+json']]
  outgoingBody({}, own)
  assert.deepEqual(own, [['content-type', 'application/vnd.api+json']])
  assert.equal(outgoingBody(undefined, []), undefined)
})
