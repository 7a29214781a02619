import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchCalls, credentialCalls } from '../../../testkit/credential-calls.ts'
import { matchesHost } from '../api-hosts.ts'
import { matchesApiPath } from './api-path.ts'
import type { ApiPath } from './api-path.ts'
import { presets } from './catalogue.ts'

function covers(entries: readonly ApiPath[], call: string): boolean {
  const [method = '', address = ''] = call.split(' ')
  const { host, pathname: path } = new URL(address)
  return entries.some((entry) => matchesApiPath(entry, { host, method, path }))
}

for (const preset of presets) {
  test(`${preset.id}: calls that return credentials are matched, and others are not`, () => {
    const { refused = [], harmless = [] } = credentialCalls[preset.id] ?? {}
    assert.ok(harmless.length > 0)
    const paths = typeof preset.credentialPaths === 'string' ? [] : preset.credentialPaths
    assert.equal(refused.length > 0, paths.length > 0)
    for (const call of refused) assert.ok(covers(paths, call), call)
    for (const call of harmless) assert.ok(!covers(paths, call), call)
    for (const call of [...refused, ...harmless]) {
      const { hostname } = new URL(call.split(' ')[1] ?? '')
      assert.ok(
        preset.apiHosts.some((host) => matchesHost(host, hostname)),
        call,
      )
    }
  })

  test(`${preset.id}: batch endpoints are matched`, () => {
    const known = batchCalls[preset.id] ?? []
    const { batchPaths = [] } = preset
    assert.equal(known.length > 0, batchPaths.length > 0)
    for (const call of known) assert.ok(covers(batchPaths, call), call)
    for (const call of credentialCalls[preset.id]?.harmless ?? [])
      assert.equal(covers(batchPaths, call), known.includes(call), call)
  })
}
