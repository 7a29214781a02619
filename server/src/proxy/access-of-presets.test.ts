import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessClasses } from '@sallyport/protocol/grant-terms'
import { accessOf } from '../../testkit/access-calls.ts'
import type { AccessCall } from '../../testkit/access-calls.ts'
import { accessOfPresets } from '../../testkit/access-of-presets.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { matchesRule } from '../providers/presets/api-path.ts'
import { presets } from '../providers/presets/catalogue.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import { presetRulesAt } from '../providers/presets/preset-rules.ts'
import type { HeaderList } from './upstream.ts'

interface Row {
  line: string
  url: URL
  call: AccessCall
}

function rowsIn(text: string): Row[] {
  let origin = ''
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter(Boolean).map((line) => {
    const [, method = '', target = '', rest = ''] = /^(\S+) (\S+) ?(.*)$/.exec(line) ?? []
    const url = new URL(target, origin || undefined)
    origin = url.origin
    const [body = '', ...named] = rest.split(/ ?@(?=[\w-]+: )/)
    const headers = named.map((one) => one.split(': ')).map(([name = '', value = '']) => [name.toLowerCase(), value])
    const isTyped = headers.some(([name]) => name === 'content-type')
    const type = isTyped ? undefined : /^[[{]/.test(body) ? 'application/json' : 'application/x-www-form-urlencoded'
    const sent = body === '' ? {} : { body, type }
    return { line, url, call: { method, ...sent, headers: headers as HeaderList } }
  })
}

for (const preset of presets) {
  test(`${preset.id}: its calls have the access class that the vendor's reference tells`, () => {
    const rows = accessOfPresets[preset.id]
    assert.ok(rows, 'add what its calls do to testkit/access-of-presets.ts')
    for (const access of accessClasses) {
      for (const { line, url, call } of rowsIn(rows[access] ?? '')) {
        assert.ok(
          preset.apiHosts.some((host) => matchesHost(host, url.hostname)),
          line,
        )
        assert.equal(accessOf(url.href, call), access, line)
      }
    }
    assert.ok(rowsIn(rows.read).length > 0 && rowsIn(rows.write ?? '').length > 0)
    assert.ok(rowsIn(rows.destructive ?? '').length > 0 || withoutDeletions.has(preset.id))
  })
}

/** Their APIs have nothing that deletes. */
const withoutDeletions = new Set(['brave-search', 'openrouter', 'perplexity', 'tavily'])

test('the rules of a preset apply at a server of its kind, below its path there', () => {
  for (const path of ['/graphql', '/api/v3/graphql', '/api/graphql']) {
    const call = {
      method: 'POST',
      type: 'application/json',
      body: '{"query":"{ viewer { login } }"}',
      preset: 'github',
    }
    assert.equal(accessOf(`https://git.example.com${path}`, call), 'read')
  }
  const erase = { method: 'POST', preset: 'gitlab' }
  assert.equal(accessOf('https://git.example.com/api/v4/projects/1/jobs/2/erase', erase), 'destructive')
  assert.equal(accessOf('https://chat.example.com/api/chat.update', { preset: 'slack' }), 'write')
  assert.equal(accessOf('https://chat.example.com/api/users.list', { preset: 'slack' }), 'read')
})

test('the rules of a preset apply at other hosts that take the same calls', () => {
  for (const host of ['www.slack.com', 'team.slack.com', 'team.enterprise.slack.com']) {
    assert.equal(accessOf(`https://${host}/api/users.list`), 'read')
    assert.equal(accessOf(`https://${host}/api/chat.postMessage?channel=C1&text=a`), 'write')
    assert.equal(accessOf(`https://${host}/api/chat.delete?channel=C1&ts=1`), 'destructive')
    const { credentials } = presetRulesAt(host, null)
    assert.ok(credentials.some((rule) => matchesRule(rule, readingsOf('/api/oauth.v2.access'), ['GET'])))
  }
  assert.equal(accessOf('https://notslack.com/api/chat.postMessage'), 'read')
})
