import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createSecretKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { openJournalFile, readJournalFile } from './journal-file.ts'
import type { JournalFile } from './journal-file.ts'

const key = createSecretKey(Buffer.alloc(32, 7))
const page = 4096

function newFile(t: TestContext): { file: string; journal: JournalFile } {
  const file = join(temporaryFolder(t), 'calls')
  const journal = openJournalFile(file, key)
  assert.ok(journal)
  t.after(journal.close)
  journal.clear()
  return { file, journal }
}

const textsIn = (file: string) => readJournalFile(file, key).entries.map(({ text }) => text)

test('what is appended is in the file, in order and whole, whatever its length and its characters', (t) => {
  const { file, journal } = newFile(t)
  const texts = ['a', 'ü€😀', 'x'.repeat(page - 42), 'y'.repeat(page - 41), 'z'.repeat(3 * page)]
  texts.forEach((text, index) => {
    assert.equal(journal.append({ number: index + 1, text }), true)
  })
  assert.deepEqual(textsIn(file), texts)
  assert.deepEqual(
    journal.read().entries.map(({ number }) => number),
    [1, 2, 3, 4, 5],
  )
  assert.equal(journal.read().strangePages, 0)
})

test('only its owner may read it, and it is as long as it will ever be', (t) => {
  const { file, journal } = newFile(t)
  const { size, mode } = statSync(file)
  assert.equal(mode & 0o777, 0o600)
  journal.append({ number: 1, text: 'x' })
  assert.equal(statSync(file).size, size)
})

test('where there is no room nothing is written, and there is again once it was cleared', (t) => {
  const { file, journal } = newFile(t)
  const long = 'x'.repeat(100 * page)
  assert.deepEqual(
    [1, 2, 3].map((number) => journal.append({ number, text: long })),
    [true, true, false],
  )
  assert.equal(journal.append({ number: 3, text: 'short' }), true)
  assert.equal(textsIn(file).length, 3)
  journal.clear()
  assert.deepEqual(textsIn(file), [])
  assert.equal(readFileSync(file).includes('x'), false, 'nothing of it is left behind')
  assert.equal(journal.append({ number: 4, text: long }), true)
  assert.equal(journal.append({ number: 5, text: 'x'.repeat(300 * page) }), false)
})

test('an entry of which anything was changed, or that another key made, is not there; the others are', (t) => {
  const { file, journal } = newFile(t)
  const texts = ['first', 'second'.repeat(1000), 'third']
  texts.forEach((text, index) => journal.append({ number: index + 1, text }))
  const whole = readFileSync(file)
  // In its code, its number, its length, its text, and on its second page.
  for (const at of [page, page + 35, page + 39, page + 50, 2 * page + 50]) {
    const changed = Buffer.from(whole)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    writeFileSync(file, changed)
    const { entries, strangePages } = readJournalFile(file, key)
    assert.deepEqual(
      entries.map(({ text }) => text),
      ['first', 'third'],
      String(at),
    )
    assert.equal(strangePages, 2)
  }
  const other = readJournalFile(file, createSecretKey(randomBytes(32)))
  assert.deepEqual(other.entries, [])
})

test('what was not written to its end is not there', (t) => {
  const { file, journal } = newFile(t)
  journal.append({ number: 1, text: 'whole' })
  journal.append({ number: 2, text: 'long'.repeat(2 * page) })
  const whole = readFileSync(file)
  whole.fill(0, 3 * page)
  writeFileSync(file, whole)
  assert.deepEqual(textsIn(file), ['whole'])
})

test('a file that is not there, is empty or was cut off holds what it holds', (t) => {
  const { file, journal } = newFile(t)
  assert.deepEqual(readJournalFile(`${file}-other`, key), { entries: [], strangePages: 0 })
  journal.append({ number: 1, text: 'kept' })
  const whole = readFileSync(file)
  writeFileSync(file, whole.subarray(0, page + 17))
  assert.deepEqual(textsIn(file), ['kept'])
  writeFileSync(file, '')
  assert.deepEqual(textsIn(file), [])
})

test('one has it at a time, in this process and among others, until it ends', async (t) => {
  const file = join(temporaryFolder(t), 'calls')
  const journal = openJournalFile(file, key)
  assert.equal(openJournalFile(file, key), undefined)
  journal?.clear()
  journal?.append({ number: 1, text: 'mine' })
  journal?.close()
  const program = `
    const { openJournalFile } = await import(process.argv[1])
    const { createSecretKey } = await import('node:crypto')
    const journal = openJournalFile(process.argv[2], createSecretKey(Buffer.alloc(32, 7)))
    process.stdout.write(journal ? 'has it' : 'has it not')
    setInterval(() => journal?.read(), 1000)`
  const module = join(import.meta.dirname, 'journal-file.ts')
  const start = () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, module, file])
    t.after(() => child.kill('SIGKILL'))
    return child
  }
  const holder = start()
  assert.equal(String((await once(holder.stdout, 'data'))[0]), 'has it')
  assert.equal(openJournalFile(file, key), undefined)
  const other = start()
  assert.equal(String((await once(other.stdout, 'data'))[0]), 'has it not')
  assert.deepEqual(textsIn(file), ['mine'], 'to read it needs no leave')
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const next = openJournalFile(file, key)
  assert.ok(next)
  assert.deepEqual(
    next.read().entries.map(({ text }) => text),
    ['mine'],
  )
  next.close()
})
