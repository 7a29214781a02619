import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupTests, runsAlone } from './test-groups.ts'

const quiet = (path: string) => ({
  path,
  text: "import { test } from 'node:test'\ntest('the processes agree', () => {})",
})

test('a file shares its process unless it touches the process or tests the whole service', () => {
  assert.equal(runsAlone(quiet('server/src/one.test.ts')), false)
  assert.equal(runsAlone(quiet('e2e/one.test.ts')), true)
  assert.equal(runsAlone({ path: 'server/src/one.test.ts', text: 'kill(process.pid)' }), false)
  for (const text of ["process.env['TZ'] = 'UTC'", 'process.umask(0)', 'globalThis.fetch = never', 't.mock.timers']) {
    assert.equal(runsAlone({ path: 'server/src/one.test.ts', text }), true, text)
  }
})

test('every file is in exactly one group, and groups have similar sizes', () => {
  const files = Array.from({ length: 94 }, (_, index) =>
    quiet(`${index % 9 === 0 ? 'e2e' : 'server'}/${index}.test.ts`),
  )
  const { together, alone } = groupTests(files)
  const placed = [...together.flat(), ...alone]
  assert.deepEqual(placed.sort(), files.map(({ path }) => path).sort())
  assert.deepEqual(
    together.map((group) => group.length),
    [28, 28, 27],
  )
})

test('the files of a room are divided among two processes', () => {
  const sizes = (count: number) =>
    groupTests(Array.from({ length: count }, (_, index) => quiet(`server/${index}.test.ts`))).together.map(
      ({ length }) => length,
    )
  assert.deepEqual([sizes(20), sizes(27), sizes(80), sizes(81)], [[20], [14, 13], [40, 40], [27, 27, 27]])
})

test('a file that is named alone runs alone', () => {
  assert.deepEqual(groupTests([quiet('server/src/one.test.ts')]), { together: [], alone: ['server/src/one.test.ts'] })
})
