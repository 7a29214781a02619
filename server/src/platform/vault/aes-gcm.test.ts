import assert from 'node:assert/strict'
import { createCipheriv, createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { DoesNotOpen, openBytes, sealBytes } from './aes-gcm.ts'

const key = createSecretKey(randomBytes(32))
const plain = fc.uint8Array({ maxLength: 200 })

function doesNotOpen(sealed: Uint8Array, associated = 'place', otherKey = key): void {
  assert.throws(() => openBytes(otherKey, associated, sealed), new DoesNotOpen())
}

test('any encrypted value decrypts to the original', () => {
  const property = fc.property(plain, fc.string(), (bytes, associated) => {
    assert.deepEqual(openBytes(key, associated, sealBytes(key, associated, bytes)), Buffer.from(bytes))
  })
  fc.assert(property)
})

test('a value with any bit changed does not decrypt', () => {
  const sealed = sealBytes(key, 'place', Buffer.from('a token that somebody wants'))
  for (let index = 0; index < sealed.length; index++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(index) ^ (1 << bit), index)
      doesNotOpen(changed)
    }
  }
})

test('a truncated or extended value does not decrypt', () => {
  const sealed = sealBytes(key, 'place', Buffer.from('a token'))
  for (let length = 0; length < sealed.length; length++) doesNotOpen(sealed.subarray(0, length))
  doesNotOpen(Buffer.concat([sealed, Buffer.of(0)]))
  doesNotOpen(sealed.subarray(1))
})

test('a truncated authentication tag is refused', () => {
  const nonce = randomBytes(12)
  for (const length of [4, 8, 12]) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: length }).setAAD(Buffer.from('place'))
    const ciphertext = Buffer.concat([cipher.update('a token long enough to fill the missing tag'), cipher.final()])
    doesNotOpen(Buffer.concat([Buffer.of(1), nonce, cipher.getAuthTag(), ciphertext]))
    const padding = Buffer.alloc(16 - length)
    doesNotOpen(Buffer.concat([Buffer.of(1), nonce, cipher.getAuthTag(), padding, ciphertext]))
  }
})

test('another key or other associated data does not decrypt it', () => {
  const property = fc.property(plain, fc.string(), fc.string(), (bytes, one, other) => {
    const sealed = sealBytes(key, one, bytes)
    doesNotOpen(sealed, one, createSecretKey(randomBytes(32)))
    if (one !== other) doesNotOpen(sealed, other)
  })
  fc.assert(property)
})

test('encrypting the same value twice gives different bytes', () => {
  const sealed = Array.from({ length: 200 }, () => sealBytes(key, 'place', Buffer.from('same')).toString('hex'))
  assert.equal(new Set(sealed).size, sealed.length)
  assert.equal(new Set(sealed.map((hex) => hex.slice(2, 26))).size, sealed.length, 'no nonce is used twice')
})
