import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { openFilesIn, socketBound } from './socket-bound.ts'

const gibibyte = 1024 ** 3

const bounds: [what: string, processes: number, memoryBytes: number, openFiles: number, bound: number][] = [
  ['the open-file limit, with enough memory', 1, 32 * gibibyte, 3000, 2000],
  ['the memory, with enough files', 1, 2 * gibibyte, Infinity, 2982],
  ['all processes share the memory', 4, 2 * gibibyte, Infinity, 745],
  ['each process has its own open-file limit', 4, 32 * gibibyte, 3000, 2000],
  ['no more than there are ports', 1, 512 * gibibyte, Infinity, 20_000],
  ['a minimum on the smallest machine', 1, gibibyte / 64, 20, 64],
]
for (const [what, processes, memoryBytes, openFiles, bound] of bounds) {
  test(`the socket limit: ${what}`, () => {
    assert.equal(socketBound(processes, { memoryBytes, openFiles }), bound)
  })
}

test('the open-file limit is parsed as Linux prints it', () => {
  const line = (files: string) =>
    `Limit                     Soft Limit           Hard Limit           Units     \n` +
    `Max processes             96373                96373                processes \n` +
    `Max open files            ${files}                524288               files     \n`
  assert.equal(openFilesIn(line('1024')), 1024)
  assert.equal(openFilesIn(line('unlimited')), Infinity)
  assert.equal(openFilesIn('what another system says'), 1024)
})

test('a process with a lower open-file limit uses fewer sockets', () => {
  const module = pathToFileURL(join(import.meta.dirname, 'socket-bound.ts')).href
  const script = `import(${JSON.stringify(module)}).then(({ socketBound }) => console.log(socketBound(1)))`
  const boundUnder = (files: number) => {
    const command = `ulimit -n ${files} && exec "$0" -e "$1"`
    return Number(spawnSync('sh', ['-c', command, process.execPath, script], { encoding: 'utf8' }).stdout)
  }
  assert.equal(boundUnder(300), 200)
  assert.equal(boundUnder(600), 400)
})
