import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { Secret } from '../secret.ts'
import { readOrMakeSecretFile, replaceSecretFile } from './key-files.ts'

const modeOf = (file: string) => statSync(file).mode & 0o777
const notNeeded = () => assert.fail('there is a file already')

test('a missing file is created, readable by its owner only', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'key')
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
  assert.equal(readOrMakeSecretFile(file, () => new Secret('made')).reveal(), 'made')
  assert.equal(readFileSync(file, 'utf8'), 'made\n')
  assert.equal(modeOf(file), 0o600)
  assert.deepEqual(readdirSync(folder), ['key'])
})

test('an existing file is read and not changed', (t) => {
  const file = join(temporaryFolder(t), 'key')
  writeFileSync(file, ' found \n')
  assert.equal(readOrMakeSecretFile(file, notNeeded).reveal(), 'found')
  assert.equal(readFileSync(file, 'utf8'), ' found \n')
})

test('an empty file is refused and not filled', (t) => {
  const file = join(temporaryFolder(t), 'key')
  for (const content of ['', ' \n']) {
    writeFileSync(file, content)
    assert.throws(
      () => readOrMakeSecretFile(file, notNeeded),
      (error: Error) => error.message.includes(file),
    )
    assert.equal(readFileSync(file, 'utf8'), content)
  }
})

test('if several processes create it concurrently, all read the same secret', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'key')
  const script = `
    import { readOrMakeSecretFile } from ${JSON.stringify(import.meta.resolve('./key-files.ts'))}
    import { Secret } from ${JSON.stringify(import.meta.resolve('../secret.ts'))}
    process.stdin.once('data', () => {
      const secret = readOrMakeSecretFile(${JSON.stringify(file)}, () => new Secret('made by ' + process.pid))
      process.stdout.write(secret.reveal())
      process.exit()
    })
    process.stdout.write('ready.')`
  const makers = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const outputs = makers.map(async (maker) => {
    let output = ''
    for await (const chunk of maker.stdout) output += String(chunk)
    return output
  })
  await Promise.all(makers.map(({ stdout }) => once(stdout, 'readable')))
  for (const maker of makers) maker.stdin.write('go')
  const made = await Promise.all(outputs)
  const winner = readFileSync(file, 'utf8').trim()
  assert.match(winner, /^made by \d+$/)
  assert.deepEqual(
    made,
    makers.map(() => `ready.${winner}`),
  )
  assert.deepEqual(readdirSync(folder), ['key'], 'no draft is left behind')
})

test("a process that loses the race reads the winner's secret", (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'key')
  const loser = () => {
    assert.equal(readOrMakeSecretFile(file, () => new Secret('winner')).reveal(), 'winner')
    return new Secret('loser')
  }
  assert.equal(readOrMakeSecretFile(file, loser).reveal(), 'winner')
  assert.deepEqual(readdirSync(folder), ['key'])
})

test('a replacement is a new file: readers of the old one are not disturbed', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'key')
  writeFileSync(file, 'old')
  chmodSync(file, 0o644)
  const { ino } = statSync(file)
  replaceSecretFile(file, new Secret('new'))
  assert.equal(readFileSync(file, 'utf8'), 'new\n')
  assert.equal(modeOf(file), 0o600)
  assert.notEqual(statSync(file).ino, ino, 'it was not written in place')
  assert.deepEqual(readdirSync(folder), ['key'])
})

test('a failed replacement leaves the old file and no temporary file', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'key')
  mkdirSync(join(file, 'full'), { recursive: true })
  assert.throws(() => {
    replaceSecretFile(file, new Secret('new'))
  })
  assert.deepEqual(readdirSync(folder), ['key'])
})

test('a full disk leaves the old file and no temporary file', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'key')
  writeFileSync(file, 'old')
  const script = `
    import { replaceSecretFile } from ${JSON.stringify(import.meta.resolve('./key-files.ts'))}
    import { Secret } from ${JSON.stringify(import.meta.resolve('../secret.ts'))}
    try {
      replaceSecretFile(${JSON.stringify(file)}, new Secret('new'))
    } catch (error) {
      process.stdout.write(error.code)
    }`
  // Files of this process may not grow: writes fail, and SIGXFSZ is ignored.
  const limited = `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`
  const node = [process.execPath, '--input-type=module', '--eval', script]
  const child = spawn('/bin/sh', ['-c', limited, ...node], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const chunk of child.stdout) output += String(chunk)
  assert.equal(output, 'EFBIG')
  assert.equal(readFileSync(file, 'utf8'), 'old')
  assert.deepEqual(readdirSync(folder), ['key'])
})

test(
  'a file that root replaces keeps its owner',
  { skip: process.getuid?.() !== 0 && 'only root can give files away' },
  (t) => {
    const file = join(temporaryFolder(t), 'key')
    writeFileSync(file, 'old')
    chownSync(file, 65_534, 65_534)
    replaceSecretFile(file, new Secret('new'))
    assert.deepEqual([statSync(file).uid, statSync(file).gid, modeOf(file)], [65_534, 65_534, 0o600])
  },
)
