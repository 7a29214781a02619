import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Secret } from '../secret.ts'
import { formatMasterKeys, newMasterKey, parseMasterKeys } from './master-keys.ts'

const bytes = Buffer.from('fbefbe'.repeat(10) + '0123', 'hex')
const idsOf = (text: string) => parseMasterKeys(new Secret(text)).map(({ id }) => id)

test('a key is the same in hex, base64 and base64url, padded or not', () => {
  const base64 = bytes.toString('base64')
  const forms = [bytes.toString('hex'), bytes.toString('hex').toUpperCase(), base64, base64.replace('=', '')]
  const ids = [...forms, bytes.toString('base64url'), ` ${base64}\n`].flatMap(idsOf)
  assert.equal(ids.length, 6)
  assert.equal(new Set(ids).size, 1)
  const [parsed] = parseMasterKeys(new Secret(base64))
  assert.deepEqual(parsed?.key.export(), bytes)
})

test('several keys keep their order, with any separator', () => {
  const [one, two, three] = [newMasterKey(), newMasterKey(), newMasterKey()]
  const texts = [one, two, three].map(({ text }) => text.reveal())
  for (const separator of [',', ', ', '\n', ' ', '\r\n', ',\n']) {
    assert.deepEqual(idsOf(texts.join(separator)), [one.id, two.id, three.id])
  }
})

test('keys can be read back after they are written', () => {
  const keys = [newMasterKey(), newMasterKey()]
  const read = parseMasterKeys(formatMasterKeys(keys))
  assert.deepEqual(
    read.map(({ id }) => id),
    keys.map(({ id }) => id),
  )
})

test('keys differ, and so do their ids', () => {
  assert.notEqual(newMasterKey().id, newMasterKey().id)
})

test('an invalid key is refused, and the error does not repeat it', () => {
  const good = bytes.toString('base64')
  const texts = [
    ...['', ' \n', ',', 'hush', good.slice(1), `${good}A`, `${good}==`, `${good}${good}`, `!${good.slice(1)}`],
    ...[`${good.slice(0, 20)}====${good.slice(20)}`, bytes.toString('hex').slice(1), `${bytes.toString('hex')}0`],
    ...[randomBytes(31).toString('base64'), randomBytes(33).toString('base64'), randomBytes(16).toString('hex')],
    ...[`${good},hush`, `hush,${good}`, `${good};${good}`, bytes.toString('hex').replace(/^../, 'zz'), 'ü'.repeat(43)],
  ]
  for (const text of texts) {
    assert.throws(
      () => parseMasterKeys(new Secret(text)),
      (error: Error) => {
        assert.match(error.message, /^a master key is (?:empty|not 32 bytes in base64 or hex)$/)
        return error instanceof TypeError
      },
      text,
    )
  }
})

test('a key does not appear when it is printed', () => {
  const key = newMasterKey()
  const text = key.text.reveal()
  const printed = inspect(key, { depth: null, showHidden: true }) + JSON.stringify(key)
  const forms = [
    text,
    Buffer.from(text, 'base64url').toString('hex'),
    Buffer.from(text, 'base64url').toString('base64'),
  ]
  for (const form of forms) assert.ok(!printed.includes(form))
  assert.ok(!forms[1]?.includes(key.id), 'the id is no part of the key')
})
