import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../testkit/databases.ts'
import type { Environment } from './settings.ts'
import {
  ConfigError,
  integer,
  oneOf,
  optional,
  otlpEndpoint,
  readSecret,
  readSetting,
  setting,
  text,
} from './settings.ts'

function problemOf(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.message
  }
  return assert.fail('it was taken')
}

const valueOf = (env: Environment) => readSecret('KEY', env).read()?.reveal()

test('a secret is given directly, in a file or by a command', (t) => {
  const file = join(temporaryFolder(t), 'key')
  writeFileSync(file, '  from a file\n')
  assert.equal(valueOf({ KEY: ' as it is\n' }), 'as it is')
  assert.equal(valueOf({ KEY_FILE: file }), 'from a file')
  assert.equal(valueOf({ KEY_COMMAND: 'echo from; echo a command' }), 'from\na command')
  assert.equal(valueOf({}), undefined)
})

test('a secret that is empty counts as absent', () => {
  const { isSet, read } = readSecret('KEY', { KEY: '', KEY_FILE: '', KEY_COMMAND: '' })
  assert.deepEqual([isSet, read()], [false, undefined])
})

test('a source that yields nothing is refused', (t) => {
  const file = join(temporaryFolder(t), 'key')
  writeFileSync(file, ' \n')
  assert.equal(
    problemOf(() => readSecret('KEY', { KEY_FILE: file })),
    'KEY_FILE is empty.',
  )
  assert.equal(
    problemOf(() => readSecret('KEY', { KEY: ' ' })),
    'KEY is empty.',
  )
  assert.equal(
    problemOf(() => readSecret('KEY', { KEY_COMMAND: 'true' })),
    'KEY_COMMAND is empty.',
  )
})

test('a secret from two sources is refused, without showing it', () => {
  const both = problemOf(() => readSecret('KEY', { KEY: 'hush', KEY_FILE: '/some/file' }))
  assert.equal(both, 'KEY and KEY_FILE are both set; use only one of them.')
  const problem = problemOf(() => readSecret('KEY', { KEY_FILE: '/some/file', KEY_COMMAND: 'echo hush' }))
  assert.equal(problem, 'KEY_FILE and KEY_COMMAND are both set; use only one of them.')
})

test('the error for an unreadable file has the reason, not the value that may be the secret', (t) => {
  const folder = temporaryFolder(t)
  assert.equal(
    problemOf(() => readSecret('KEY', { KEY_FILE: join(folder, 'none') })),
    'KEY_FILE names a file that cannot be read (ENOENT).',
  )
  assert.equal(
    problemOf(() => readSecret('KEY', { KEY_FILE: folder })),
    'KEY_FILE names a file that cannot be read (EISDIR).',
  )
})

test('the error for a failed command has its exit status, never its output', () => {
  const cases = {
    'echo hush; echo hush >&2; exit 3': 'exit 3',
    'does-not-exist-anywhere hush': 'exit 127',
    'echo hush; kill -TERM $$': 'SIGTERM',
  }
  for (const [command, reason] of Object.entries(cases)) {
    assert.equal(
      problemOf(() => readSecret('KEY', { KEY_COMMAND: command })),
      `KEY_COMMAND failed (${reason}).`,
    )
  }
})

test('a secret from a file is read again each time, as it may have been rotated', (t) => {
  const file = join(temporaryFolder(t), 'key')
  writeFileSync(file, 'one')
  const source = readSecret('KEY', { KEY_FILE: file })
  writeFileSync(file, 'two')
  assert.equal(source.read()?.reveal(), 'two')
  rmSync(file)
  assert.equal(
    problemOf(() => source.read()),
    'KEY_FILE names a file that cannot be read (ENOENT).',
  )
})

test('a setting has the configured value, its default, or none', () => {
  const count = setting('3', 'how many', integer(1, 5))
  assert.equal(readSetting('COUNT', count, {}), 3)
  assert.equal(readSetting('COUNT', count, { COUNT: '5' }), 5)
  assert.equal(readSetting('COUNT', setting(null, 'how many', optional(integer(1, 5))), {}), undefined)
  assert.equal(
    problemOf(() => readSetting('COUNT', count, { COUNT: '6' })),
    'COUNT: got "6"; expected a whole number from 1 to 5.',
  )
  assert.equal(
    problemOf(() => readSetting('MODE', setting('a', 'which', oneOf('a', 'b')), { MODE: 'A' })),
    'MODE: got "A"; expected one of a, b.',
  )
  assert.equal(
    problemOf(() => readSetting('NAME', setting(null, 'whose', text), {})),
    'NAME: got ""; expected some text.',
  )
})

test('an internal error while reading a setting is not blamed on the operator', () => {
  const broken = setting('x', 'whose', () => {
    throw new RangeError('ours')
  })
  assert.throws(() => readSetting('NAME', broken, {}), RangeError)
})

test('a collector is https, or http on this machine alone', () => {
  for (const url of [
    'https://collector.example.com:4318',
    'http://localhost:4318',
    'http://[::1]/otlp',
    'http://127.1',
  ]) {
    assert.ok(otlpEndpoint(url))
  }
  for (const url of [
    'http://collector.example.com',
    'http://localhost.example',
    'http://0.0.0.0',
    'https://a/?b',
    'x',
  ]) {
    assert.throws(() => otlpEndpoint(url), TypeError, url)
  }
})
