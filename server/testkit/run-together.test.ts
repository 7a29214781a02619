/** Real test files in a real run: any failure in one of them fails the run and names the file. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { temporaryFolder } from './databases.ts'

const good = "test('a good test', () => {})"

/** Runs files with these texts together: `a.test.ts`, `b.test.ts` and so on. */
async function runTexts(t: TestContext, ...texts: string[]) {
  const folder = temporaryFolder(t)
  const files = texts.map((text, index) => {
    const file = join(folder, `${'abcd'.charAt(index)}.test.ts`)
    writeFileSync(file, `import { after, before, describe, test } from 'node:test'\n${text}`)
    return file
  })
  const entry = join(folder, 'group.mjs')
  const finished = join(folder, 'finished')
  const runner = JSON.stringify(import.meta.resolve('./run-together.ts'))
  const words = [files, finished, 500].map((word) => JSON.stringify(word)).join(', ')
  writeFileSync(entry, `import { runTogether } from ${runner}\nawait runTogether(${words})`)
  // Otherwise node:test would treat the run as part of this one.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const child = spawn(process.execPath, ['--test', '--test-timeout=3000', '--test-reporter=tap', entry], {
    env,
    timeout: 60_000,
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  const names = existsSync(finished) ? readFileSync(finished, 'utf8').trim().split('\n') : []
  const told = (line: string) => output.split('\n').filter((told) => told.trim().startsWith(line)).length
  return { code, output, finished: names.map((name) => name.slice(-9, -8)).join(''), told }
}

test('the tests of all files run, file by file, with the hooks of their file', async (t) => {
  const say = (word: string) => `console.log('${word}')`
  const file = (name: string) => `before(() => ${say(`${name} begins`)})
    await new Promise((resolve) => setTimeout(resolve, 10))
    test('of ${name}', () => ${say(`${name} runs`)})
    describe('more', () => { test('of ${name} too', () => ${say(`${name} goes on`)}) })
    after(() => ${say(`${name} ends`)})`
  const run = await runTexts(t, file('a'), file('b'))
  assert.equal(run.code, 0, run.output)
  assert.equal(run.finished, 'ab')
  assert.equal(run.told('# tests 4'), 1)
  const said = run.output.match(/^# [ab] \w+( on)?$/gm)
  const steps = (name: string) => ['begins', 'runs', 'goes on', 'ends'].map((step) => `# ${name} ${step}`)
  assert.deepEqual(said, [...steps('a'), ...steps('b')])
})

test('a failing test, a hanging test and a file that does not load fail the run, and the rest continue', async (t) => {
  const failing = "test('a bad test', () => { throw new Error('bad') })"
  const hanging = "test('an endless test', () => new Promise(() => {}))"
  const run = await runTexts(t, failing, hanging, "throw new Error('does not load')", good)
  assert.equal(run.code, 1)
  assert.equal(run.finished, 'abcd')
  for (const name of ['a bad test', 'an endless test']) assert.equal(run.told('not ok 1 - ' + name), 1, name)
  assert.match(run.output, /a\.test\.ts:2:1/)
  assert.match(run.output, /not ok 3 - .*c\.test\.ts/)
  assert.equal(run.told('ok 1 - a good test'), 1)
})

test('a crashing process fails the run and reports the unfinished files', async (t) => {
  const run = await runTexts(t, good, "test('kills', () => process.kill(process.pid, 'SIGKILL'))", good)
  assert.equal(run.code, 1)
  assert.equal(run.finished, 'a')
})

test('test.only does not prevent other tests from running', async (t) => {
  const run = await runTexts(t, `test.only('alone', () => {})\n${good}`, good)
  assert.equal(run.code, 0, run.output)
  assert.equal(run.told('# tests 3'), 1)
  assert.equal(run.told('# pass 3'), 1)
})

test('only the file that leaves the process changed fails', async (t) => {
  const changes = ["process.env['LEFT'] = 'behind'", 'process.umask(0)', "process.on('SIGUSR2', () => {})"]
  const run = await runTexts(t, ...changes.map((change) => `test('changes', () => { ${change} })`), good)
  assert.equal(run.code, 1)
  for (const name of 'abc') assert.match(run.output, new RegExp(`not ok \\d - .*${name}\\.test\\.ts`), name)
  assert.match(run.output, /process\.env\.LEFT/)
  assert.match(run.output, /^ok 4 - .*d\.test\.ts/m)
})

test('an error after the end of its test fails the run', async (t) => {
  const late = "test('is soon over', () => { setTimeout(() => { throw new Error('late') }, 50) })"
  const run = await runTexts(t, late, good)
  assert.equal(run.code, 1)
  assert.match(run.output, /is soon over.*a\.test\.ts/)
})

test('a server that is left open fails its file and does not keep the process running', async (t) => {
  const opens =
    "import { createServer } from 'node:net'\ntest('opens', () => { createServer().listen(0, '127.0.0.1') })"
  const run = await runTexts(t, opens, good)
  assert.equal(run.code, 1)
  assert.match(run.output, /not ok 1 - .*a\.test\.ts/)
  assert.match(run.output, /TCPServerWrap/)
  assert.equal(run.finished, 'ab')
})
