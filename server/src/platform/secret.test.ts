import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, inspect } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { redacted, Secret } from './secret.ts'

const value = 'correct-horse-battery-staple'
const secret = new Secret(value)

test('reveal opens a secret, and nothing else does', () => {
  assert.equal(secret.reveal(), value)
})

test('a secret converted to text is [REDACTED]', () => {
  const forms: Record<string, string> = {
    String: String(secret),
    template: `<${secret as unknown as string}>`.slice(1, -1),
    join: [secret].join(),
    inspect: inspect(secret),
    '%s': format('%s', secret),
  }
  for (const [how, text] of Object.entries(forms)) assert.equal(text, redacted, how)
  assert.equal('key=' + (secret as unknown as string), `key=${redacted}`)
  assert.equal(JSON.stringify({ secret }), `{"secret":"${redacted}"}`)
})

test('no way of printing shows the value, however deeply nested', () => {
  const error = new Error('outside', { cause: new Error('inside', { cause: { secret } }) })
  const nested = { deep: { list: [secret], map: new Map([['key', secret]]), set: new Set([secret]) }, error }
  const hidden = Object.defineProperty({}, 'secret', { value: secret, enumerable: false })
  const printed = [
    inspect(nested, { depth: null, showHidden: true, getters: true }),
    inspect(secret, { customInspect: false, showHidden: true, showProxy: true }),
    inspect(hidden, { showHidden: true }),
    inspect(new Proxy(secret, {}), { showProxy: true, showHidden: true }),
    inspect(error, { depth: null }),
    format('%s %o %O %j %d %i %f', secret, secret, secret, secret, secret, secret, secret),
    format('a line with', secret, nested),
    JSON.stringify(nested),
    JSON.stringify(secret, null, 2),
    inspect(structuredClone(secret), { showHidden: true }),
    inspect(deserialize(serialize(secret)), { showHidden: true }),
    inspect(Object.assign({}, secret)),
    inspect(Object.getOwnPropertyDescriptors(secret)),
    Number(secret).toString(),
  ]
  for (const text of printed) assert.ok(!text.includes(value), text)
})

test('a secret has no enumerable members', () => {
  assert.deepEqual(Object.keys(secret), [])
  assert.deepEqual(Reflect.ownKeys(secret), [])
  const names: string[] = []
  for (const name in secret) names.push(name)
  assert.deepEqual(names, [])
})
