import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessOf } from '../../testkit/access-calls.ts'
import { abilitiesAt } from './abilities.ts'
import { matchesHost } from './api-hosts.ts'
import { presets } from './presets/catalogue.ts'

test('abilities are those of the preset, at the hosts that are asked for', () => {
  const whats = (preset: string | null, hosts: string[]) => [
    ...new Set(abilitiesAt(preset, hosts).map(({ does, what }) => `${does} ${what}`)),
  ]
  assert.deepEqual(whats('google', ['gmail.googleapis.com']), [
    'read your mail',
    'send mail as you',
    'change your mail',
    'delete your mail',
  ])
  assert.deepEqual(whats('google', ['elsewhere.example']), [])
  assert.deepEqual(whats(null, ['gmail.googleapis.com']), [])
  assert.deepEqual(whats('__proto__', ['gmail.googleapis.com']), [])
  assert.ok(whats('google', ['*.googleapis.com']).length > 20)
})

test('each ability is at a host of its preset, and short', () => {
  for (const { id, abilities = [], apiHosts } of presets) {
    for (const { does, what, host } of abilities) {
      assert.ok(
        apiHosts.some((one) => matchesHost(one, host)),
        `${id}: ${host}`,
      )
      assert.ok(does.length < 12 && what.length < 40, `${id}: ${does} ${what}`)
    }
  }
})

/** The service judges each call by the same rules, so what is ruled out for people is refused or asked about. */
test('what does nothing else deletes nothing', () => {
  let count = 0
  for (const { id, abilities = [] } of presets) {
    for (const { host, path, only } of abilities) {
      if (only !== true) continue
      count++
      const url = `https://${host}${path.replaceAll('*', 'x')}`
      for (const below of ['', '/x', '/batchDelete']) {
        assert.equal(accessOf(url + below, { method: 'POST', preset: id, body: '{}' }), 'write', url + below)
      }
    }
  }
  assert.ok(count > 3)
})
