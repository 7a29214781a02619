import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lowestId, newId, timeOf } from './ids.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** From 1970 to the last moment that 48 bits of milliseconds can name and a Date holds. */
const times = fc.integer({ min: 0, max: 8.64e15 }).map((ms) => new Date(Math.min(ms, 2 ** 48 - 1)))

function uuidOf(id: string): string {
  const value = Array.from(id.slice(4)).reduce((sum, character) => sum * 32n + BigInt(alphabet.indexOf(character)), 0n)
  return value.toString(16).padStart(32, '0')
}

test('an id is its prefix and 26 lower-case base32 characters', () => {
  assert.match(newId('agt', new Date('2026-11-15T12:00:00.000Z')), /^agt_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
})

test('it encodes a UUID version 7 with its time', () => {
  const property = fc.property(times, (time) => {
    const uuid = uuidOf(newId('ses', time))
    assert.match(uuid, /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
    assert.equal(parseInt(uuid.slice(0, 12), 16), time.getTime())
  })
  fc.assert(property)
})

test('ids made later sort later', () => {
  const property = fc.property(times, times, (one, other) => {
    fc.pre(one < other)
    assert.ok(newId('usr', one) < newId('usr', other))
  })
  fc.assert(property)
  const start = Date.parse('2026-11-15T12:00:00.000Z')
  const made = Array.from({ length: 500 }, (_, ms) => newId('aud', new Date(start + ms)))
  assert.deepEqual(made.toSorted(), made)
})

test('ids of the same millisecond differ', () => {
  const now = new Date('2026-11-15T12:00:00.000Z')
  const ids = Array.from({ length: 1000 }, () => newId('grt', now))
  assert.equal(new Set(ids).size, ids.length)
})

test('the lowest id of a time sorts before all ids of that time and after all earlier ones', () => {
  const property = fc.property(times, (time) => {
    fc.pre(time.getTime() > 0)
    assert.ok(lowestId('aud', time) < newId('aud', time))
    assert.ok(lowestId('aud', time) > newId('aud', new Date(time.getTime() - 1)))
  })
  fc.assert(property)
})

test('its time can be read from a valid id only', () => {
  const property = fc.property(times, (time) => {
    assert.equal(timeOf(newId('aud', time)), time.getTime())
    assert.equal(timeOf(lowestId('aud', time)), time.getTime())
  })
  fc.assert(property)
  for (const text of ['', 'aud_', 'aud_old', `aud_${'!'.repeat(26)}`]) assert.ok(Number.isNaN(timeOf(text)), text)
})
