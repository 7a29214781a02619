/** A client of the legacy protocol that shares no code with ours: Python, written from the contract only. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { keyPair } from '../server/testkit/legacy-v1.ts'
import { findPython } from '../server/testkit/python.ts'
import { baseUrlOf, roomyForLegacy, serviceFingerprint } from './legacy-clients.ts'
import { startService } from './running-service.ts'

const folder = join(import.meta.dirname, 'legacy-peer')
const python = await findPython('cryptography')
const options = {
  skip: python === undefined && 'No Python here has the package cryptography (Debian: python3-cryptography).',
}

async function runPeer(script: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(python ?? '', ['-B', join(folder, script), ...args], { timeout: 60_000 })
  return stdout
}

onBothDatabases('a client in Python', (engine) => {
  test('registers, saves, reads, refreshes, binds and rotates', options, async (t) => {
    const service = await startService(t, engine, roomyForLegacy)
    // The peer can generate its own keys (it does so for the vectors), but that is slow, so it gets shared ones here.
    const keys = [2048, 2048, 3072, 4096].map((bits, index) => keyPair(index, bits))
    const pems = keys.map(({ privateKey }) => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
    const output = await runPeer('life.py', baseUrlOf(service), await serviceFingerprint(service), ...pems)
    const steps = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).step as string)
    assert.deepEqual(steps, [
      'registered',
      'saved and read',
      'wrote again',
      'refreshed, and a used challenge was refused',
      'bound',
      'rotated',
      'served without binding',
      'done',
    ])
  })
})

test('the vectors can be generated again with the same content', options, async () => {
  const vectors = JSON.parse(await runPeer('vectors.py'))
  const kept = (await import('../protocol/vectors/envelope-v1.json', { with: { type: 'json' } })).default
  const names = (one: any) => [...one.opened, ...one.refused].map(({ name }) => name as string)
  assert.deepEqual(names(vectors), names(kept))
})
