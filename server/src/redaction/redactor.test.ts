import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '../platform/secret.ts'
import { createRedactor } from './redactor.ts'
import { compileSecrets } from './secret-forms.ts'

const token = 'ya29.A0aBcDeFgHiJkLmNoP'

test('a credential is redacted anywhere in text, and counted', () => {
  const redactor = createRedactor(compileSecrets([new Secret(token)]))
  const cases: [string, string][] = [
    [token, '[REDACTED]'],
    [`Bearer ${token}`, 'Bearer [REDACTED]'],
    [`${token}${token}`, '[REDACTED][REDACTED]'],
    [`é${token}漢字`, 'é[REDACTED]漢字'],
    ['nothing of the kind', 'nothing of the kind'],
    ['', ''],
    [`${token.slice(0, -1)} `, `${token.slice(0, -1)} `],
  ]
  for (const [value, expected] of cases) assert.equal(redactor.text(value), expected)
  assert.equal(redactor.count(), 5)
})

test('a credential is redacted in binary data, and the other bytes stay', async () => {
  const redactor = createRedactor(compileSecrets([new Secret(token)]))
  const noise = Buffer.from([0x00, 0xff, 0xfe, 0x80, 0xc3])
  const given = Buffer.concat([noise, Buffer.from(token), noise])
  assert.deepEqual(await redactor.body(given), Buffer.concat([noise, Buffer.from('[REDACTED]'), noise]))
  assert.equal(redactor.count(), 1)
})

test('a credential with non-ASCII characters is found as UTF-8', async () => {
  const redactor = createRedactor(compileSecrets([new Secret('schlüssel-für-alles')]))
  const header = Buffer.from('«schlüssel-für-alles»').toString('latin1')
  assert.equal(Buffer.from(redactor.text(header), 'latin1').toString(), '«[REDACTED]»')
  assert.equal((await redactor.body(Buffer.from('schlüssel-für-alles!'))).toString(), '[REDACTED]!')
})

test('a credential is found in a header name, in lower case', () => {
  const redactor = createRedactor(compileSecrets([new Secret(token)]))
  assert.equal(redactor.headerName(`X-${token.toLowerCase()}`), 'x-[REDACTED]')
  assert.equal(redactor.headerName(`X-${token.toUpperCase()}-B`), 'x-[REDACTED]-b')
  assert.equal(redactor.headerName('Content-Type'), 'content-type')
  assert.equal(redactor.count(), 2)
})

test('of two credentials, one a prefix of the other, nothing is left', () => {
  const longer = `${token}.and-its-refresh-part`
  for (const secrets of [
    [token, longer],
    [longer, token],
  ]) {
    const redactor = createRedactor(compileSecrets(secrets.map((one) => new Secret(one))))
    assert.equal(redactor.text(`${longer} ${token}`), '[REDACTED] [REDACTED]')
    assert.equal(redactor.count(), 2)
  }
})

test('a secret shorter than 16 characters is not searched for, to avoid false matches', () => {
  const redactor = createRedactor(
    compileSecrets([new Secret('fifteen-letters'), new Secret('sixteen-letters!'), new Secret('')]),
  )
  assert.equal(redactor.text('fifteen-letters sixteen-letters!'), 'fifteen-letters [REDACTED]')
})

test('after a refresh both the new and the old credential are redacted', () => {
  const renewed = 'ya29.Z9yXwVuTsRqPoNmLkJ'
  const first = compileSecrets([new Secret(token)])
  let forms = first
  const redactor = createRedactor(first, () => forms)
  const stream = redactor.stream()
  const out = [stream.push(Buffer.from(`one ${token} two ${renewed.slice(0, 9)}`))]
  forms = compileSecrets([token, renewed].map((one) => new Secret(one)))
  out.push(stream.push(Buffer.from(`${renewed.slice(9)} three ${token} `)), stream.end())
  assert.equal(Buffer.concat(out).toString(), 'one [REDACTED] two [REDACTED] three [REDACTED] ')
  assert.equal(redactor.text(renewed), '[REDACTED]')
})
