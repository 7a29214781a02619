import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Secret } from './secret.ts'
import { hashToken, isSameHash, issuedTokenPattern, isWellFormedToken, mintToken } from './tokens.ts'
import type { TokenKind } from './tokens.ts'

const kinds: readonly TokenKind[] = ['admin', 'agent', 'key', 'login', 'sandbox', 'session']
const base62 = Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')

test('a token is its prefix, 43 random characters and a checksum of 6', () => {
  for (const kind of kinds) {
    const text = mintToken(kind).reveal()
    assert.match(text, new RegExp(`^sp_${kind}_[0-9A-Za-z]{49}$`))
    assert.ok(isWellFormedToken(kind, text))
  }
})

test('no two tokens are the same', () => {
  const tokens = Array.from({ length: 1000 }, () => mintToken('agent').reveal())
  assert.equal(new Set(tokens).size, tokens.length)
})

test('a wrong character is detected without a lookup', () => {
  const property = fc.property(fc.nat(48), fc.constantFrom(...base62), (position, character) => {
    const text = mintToken('session').reveal()
    const index = 'sp_session_'.length + position
    fc.pre(text[index] !== character)
    return !isWellFormedToken('session', text.slice(0, index) + character + text.slice(index + 1))
  })
  fc.assert(property, { numRuns: 500 })
})

test('a token of one kind is not valid as another, even with its prefix changed', () => {
  const agent = mintToken('agent').reveal()
  const admin = mintToken('admin').reveal()
  assert.ok(!isWellFormedToken('admin', agent))
  assert.ok(!isWellFormedToken('agent', admin))
  assert.ok(!isWellFormedToken('admin', agent.replace('sp_agent_', 'sp_admin_')))
})

test('anything else is malformed', () => {
  const token = mintToken('login').reveal()
  const wrong = ['', ' ', 'sp_login_', token.slice(1), token.slice(0, -1), `${token}0`, ` ${token}`, `${token}\n`]
  for (const text of [...wrong, token.toUpperCase(), token.toLowerCase()]) {
    assert.ok(!isWellFormedToken('login', text), text)
  }
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => kinds.every((kind) => !isWellFormedToken(kind, text))))
})

test('only the SHA-256 of a token is stored', () => {
  const token = mintToken('agent')
  assert.deepEqual(hashToken(token), createHash('sha256').update(token.reveal()).digest())
})

test('tokens are equal if every character is', () => {
  const property = fc.property(fc.string(), fc.string(), (one, other) => {
    const [first, second, again] = [one, other, one].map((text) => hashToken(new Secret(text)))
    assert.ok(first && second && again)
    assert.equal(isSameHash(first, second), one === other)
    assert.ok(isSameHash(first, again))
  })
  fc.assert(property)
})

test('every token of ours is found inside longer text', () => {
  for (const kind of kinds) {
    const token = mintToken(kind).reveal()
    const text = `GET /?t=${token}&x=1 "${token}" ${token}\\n(${token})`
    assert.equal(text.replaceAll(issuedTokenPattern, '*'), 'GET /?t=*&x=1 "*" *\\n(*)')
  }
})
