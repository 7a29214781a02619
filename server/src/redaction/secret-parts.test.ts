/** A token that is cut at its own punctuation: what is left of it is found, and what is public in it is not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leftOf, secretForms } from '../../testkit/secret-forms.ts'
import { Secret } from '../platform/secret.ts'
import { createRedactor } from './redactor.ts'
import { compileSecrets } from './secret-forms.ts'
import { partsOf } from './secret-parts.ts'

const header = Buffer.from('{"alg":"RS256","typ":"JWT","kid":"a key"}').toString('base64url')
const payload = Buffer.from('{"sub":"248289761001","aud":"https://api.example.com"}').toString('base64url')
const signature = 'Zq7TfK4mPx9LwRb2VcYh8sNd1GuJe6Ao-Zq_7Tf'

const tokens = [
  'ya29.a0AfB7byDx9LwRb2VcYh8sNd1GuJe6AoZq7TfK4m',
  'xoxp-1234567890-1234567890-1234567890123-0f1e2d3c4b5a69788796a5b4c3d2e1f0',
  'xoxe.xoxp-1-Mi0yLTEyMzQ1Njc4OTAxMjMtNDU2Nzg5MDEyMzQ1Ng',
  'glpat-Zq7TfK4mPx9LwRb2VcYh',
  'github_pat_11ABCDEFG0aBcDeFgHiJkL_Zq7TfK4mPx9LwRb2VcYh8sNd1GuJe6AoZq7TfK4mPx9LwRb2VcYh8sNd1Gu',
  '00D50000000IZ3Z!AQ0AQDpEDKYsn7ioKug2aSmgCjgrPjG9eRLza8jXWoW7uA90V39rvQaIy1FGxjFHN1ZtusBGljncdEi8eRiuit1QdQ1Z2KSV',
  '2/1201234567890123/1201234567890124:0f1e2d3c4b5a69788796a5b4c3d2e1f0',
  `${header}.${payload}.${signature}`,
  `ghs_3915_${header}.${payload}.${signature}`,
]

const forms = secretForms.filter(({ name }) =>
  ['plain', 'percent, upper case', 'JSON \\u', 'hex', 'base64', 'base64url, after "Bearer "', 'decimal bytes'].includes(
    name,
  ),
)

/** Everything that stands behind one of its signs, and each part by itself, where that is long enough. */
function piecesOf(token: string): string[] {
  const isJwt = token.includes(header)
  const ends = Array.from(token.matchAll(isJwt ? /\./g : /[^A-Za-z0-9]/g), ({ index }) => index)
  const rests = ends.map((at) => token.slice(at + 1))
  const parts = token
    .split(isJwt ? '.' : /[^A-Za-z0-9]/)
    .filter((part) => !part.endsWith(header) && !/^\d+$/.test(part))
  return [...rests, ...parts].filter((piece) => piece.length >= 16)
}

for (const token of tokens) {
  test(`parts of ${token.slice(0, 12)}… between its punctuation are redacted`, () => {
    const compiled = compileSecrets([new Secret(token)])
    for (const piece of piecesOf(token)) {
      for (const form of forms) {
        const given = Buffer.concat([Buffer.from('{"a":"'), form.encode(piece), Buffer.from('"}')])
        const redactor = createRedactor(compiled)
        const output = redactor.body(given)
        assert.ok(Buffer.isBuffer(output))
        assert.equal(leftOf(output, form, piece), undefined, `${form.name} of ${piece}: ${output.toString()}`)
        assert.equal(redactor.count(), 1, `${form.name} of ${piece}: ${output.toString()}`)
        const stream = createRedactor(compiled).stream()
        const streamed = Array.from(given, (byte) => stream.push(Buffer.of(byte)))
        assert.deepEqual(Buffer.concat([...streamed, stream.end()]), output)
        assert.equal(createRedactor(compiled).text(given.toString('latin1')), output.toString('latin1'))
      }
    }
  })
}

test('public parts of a token stay: a JWT header, an account number, short parts', () => {
  for (const token of tokens) {
    const redactor = createRedactor(compileSecrets([new Secret(token)]))
    const open = `{"header":"${header}","gid":"1201234567890123","org":"00D50000000IZ3Z","kind":"github_pat_"}`
    assert.equal(redactor.text(open), open, token)
  }
})

test('another token of the same issuer is not redacted', () => {
  const redactor = createRedactor(compileSecrets([new Secret(`${header}.${payload}.${signature}`)]))
  const other = `${header}.${payload.slice(0, -1)}A.${signature.slice(0, -1)}x`
  assert.equal(redactor.text(other), other)
})

test('of a token with many parts only the longest are searched for', () => {
  const parts = Array.from({ length: 40 }, (_, index) => 'x'.repeat(16 + index))
  const found = partsOf(parts.join('-'))
  assert.equal(found.length, 16)
  assert.ok(found.every(({ from, to }) => to - from >= 40))
})
