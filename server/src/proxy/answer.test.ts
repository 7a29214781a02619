import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../platform/secret.ts'
import { createRedactor } from '../redaction/redactor.ts'
import { compileSecrets } from '../redaction/secret-forms.ts'
import { readAnswer } from './answer.ts'
import type { HeaderList } from './upstream.ts'

const token = 'ya29.A0aBcDeFgHiJkLmNoP'
const goesOn = new AbortController().signal

async function answerTo(headers: HeaderList, ...chunks: (string | Buffer)[]) {
  const body = ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)))
  return readAnswer({ status: 207, headers, body }, createRedactor(compileSecrets([new Secret(token)])), goesOn)
}

test('a body is JSON when it says so and is, text when it is UTF-8, and base64 otherwise', async () => {
  const json = 'application/json'
  const cases: [string | undefined, string | Buffer, unknown, string][] = [
    [json, '{"a":[1,null]}', { a: [1, null] }, 'json'],
    [`${json}; charset=utf-8`, '"text"', 'text', 'json'],
    ['APPLICATION/JSON', 'null', null, 'json'],
    ['application/problem+json', '{}', {}, 'json'],
    [json, '{"a":', '{"a":', 'text'],
    [json, '\ufeff{}', '\ufeff{}', 'text'],
    [json, '['.repeat(1e5) + ']'.repeat(1e5), '['.repeat(1e5) + ']'.repeat(1e5), 'text'],
    ['application/jsonlines', '{}', '{}', 'text'],
    ['text/plain', '{}', '{}', 'text'],
    [undefined, 'é漢', 'é漢', 'text'],
    [json, '', '', 'text'],
    ['image/png', Buffer.from([0x89, 0x50, 0xff]), 'iVD/', 'base64'],
    [json, Buffer.from([0x22, 0xff, 0x22]), 'Iv8i', 'base64'],
  ]
  for (const [type, given, body, bodyEncoding] of cases) {
    const answer = await answerTo(type === undefined ? [] : [['Content-Type', type]], given)
    assert.deepEqual([answer.body, answer.bodyEncoding], [body, bodyEncoding])
    assert.deepEqual([answer.status, answer.bytes], [207, Buffer.byteLength(given)])
  }
})

test('a member named __proto__ comes back as any other member', async () => {
  const { body } = await answerTo([['content-type', 'application/json']], '{"__proto__":{"admin":true}}')
  assert.equal(JSON.stringify(body), '{"__proto__":{"admin":true}}')
  const { headers } = await answerTo([['__proto__', 'x']], '')
  assert.equal(JSON.stringify(headers), '{"__proto__":"x"}')
})

test('a header that comes several times has several values, whatever its case', async () => {
  const { headers } = await answerTo(
    [
      ['Link', 'a'],
      ['link', 'b'],
      ['ETag', 'c'],
    ],
    '',
  )
  assert.deepEqual(headers, { link: ['a', 'b'], etag: 'c' })
})

test('cookies and what concerns the connection are not returned', async () => {
  const names = ['Set-Cookie', 'set-cookie2', 'Connection', 'keep-alive', 'Transfer-Encoding', 'trailer', 'upgrade']
  const { headers } = await answerTo([...names.map((name): [string, string] => [name, 'x']), ['x-a', 'y']], '')
  assert.deepEqual(headers, { 'x-a': 'y' })
})

test('a token that the upstream sends back is in nothing that the agent gets, split across chunks or not', async () => {
  const answers = await Promise.all([
    answerTo([['content-type', 'application/json']], JSON.stringify({ [token]: { t: `Bearer ${token}` } })),
    answerTo([['content-type', 'text/plain']], `<${token.slice(0, 9)}`, `${token.slice(9)}>`),
    answerTo([['content-type', 'application/octet-stream']], Buffer.from([0xff]), token),
    answerTo(
      [
        [`x-${token}`, '1'],
        [`y-${token.toLowerCase()}`, '2'],
        ['location', `https://x/?t=${token}`],
        ['content-type', `text/plain; t=${token}`],
      ],
      '',
    ),
  ])
  assert.deepEqual(answers[0].body, { '[REDACTED]': { t: 'Bearer [REDACTED]' } })
  assert.equal(answers[1].body, '<[REDACTED]>')
  assert.equal(answers[2].body, Buffer.concat([Buffer.from([0xff]), Buffer.from('[REDACTED]')]).toString('base64'))
  assert.deepEqual(answers[3].headers, {
    'x-[REDACTED]': '1',
    'y-[REDACTED]': '2',
    location: 'https://x/?t=[REDACTED]',
    'content-type': 'text/plain; t=[REDACTED]',
  })
})

test('an upstream that breaks off fails the call', async () => {
  const body = (async function* () {
    await Promise.resolve()
    yield Buffer.from('half')
    throw new Error('reset')
  })()
  await assert.rejects(
    readAnswer({ status: 200, headers: [], body }, createRedactor(compileSecrets([])), goesOn),
    /reset/,
  )
})
