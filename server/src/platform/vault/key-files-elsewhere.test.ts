import assert from 'node:assert/strict'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { Secret } from '../secret.ts'
import { replaceSecretFile } from './key-files.ts'

test('replacing a symlinked secret replaces the target, not the link', (t) => {
  const folder = temporaryFolder(t)
  const [link, elsewhere] = [join(folder, 'key'), join(folder, 'elsewhere')]
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'key'), 'old')
  symlinkSync(join('elsewhere', 'key'), link)
  replaceSecretFile(link, new Secret('new'))
  assert.ok(lstatSync(link).isSymbolicLink())
  assert.equal(readFileSync(join(elsewhere, 'key'), 'utf8'), 'new\n')
  assert.deepEqual(readdirSync(elsewhere), ['key'])
})

test("a replaced secret keeps its group's permission and loses everyone else's", (t) => {
  const file = join(temporaryFolder(t), 'key')
  for (const [before, after] of [
    [0o640, 0o640],
    [0o600, 0o600],
    [0o644, 0o600],
  ] as const) {
    writeFileSync(file, 'old')
    chmodSync(file, before)
    replaceSecretFile(file, new Secret('new'))
    assert.equal(statSync(file).mode & 0o777, after)
  }
})
