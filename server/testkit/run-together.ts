/**
 * Runs test files one after the other in this process, each as a suite with the file's name. A file is loaded when its
 * turn has come, its hooks are its own, and it has to leave the process as it found it: the next one runs there too.
 */
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { after, suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { measureFile } from './file-times.ts'

/** The names of the files that ran to their end are added to `finished`. */
export async function runTogether(files: readonly string[], finished: string, closingMs = 10_000): Promise<void> {
  // A test that waits for nothing has its time-out too, as long as something keeps the process alive.
  const alive = setInterval(() => undefined, 1000)
  for (const file of files) {
    await suite(file, async () => {
      const before = processState()
      const open = openHandles()
      const ended = measureFile(file)
      await import(pathToFileURL(resolve(file)).href)
      after(async () => {
        ended()
        assert.deepEqual(changedSince(before), [], 'The file leaves the process changed.')
        assert.deepEqual(await leftOpen(open, closingMs), [], 'The file leaves something open.')
      })
    })
    appendFileSync(finished, `${file}\n`)
  }
  clearInterval(alive)
  // Whatever a file has left open must not hold up the run.
  setTimeout(() => process.exit(1), closingMs).unref()
}

function processState(): Map<string, unknown> {
  // It can be read only by setting it.
  const umask = process.umask(0o077)
  process.umask(umask)
  // What cleans up at the very end disturbs nobody.
  const events = process.eventNames().filter((event) => event !== 'exit')
  return new Map<string, unknown>([
    ...Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value] as const),
    ...events.map((event) => [`listeners of ${String(event)}`, process.listenerCount(event)] as const),
    ['umask', umask],
    ['working folder', process.cwd()],
  ])
}

/** Names alone: a value of the environment may be somebody's secret. */
function changedSince(before: ReadonlyMap<string, unknown>): string[] {
  const now = processState()
  const names = new Set([...before.keys(), ...now.keys()])
  return [...names].filter((name) => before.get(name) !== now.get(name))
}

/** What would keep the process alive. */
function openHandles(): string[] {
  return process.getActiveResourcesInfo()
}

/** Sockets and timers may take a moment to go, and a server one to be there. */
async function leftOpen(before: readonly string[], closingMs: number): Promise<string[]> {
  const deadline = Date.now() + closingMs
  for (;;) {
    await sleep(20)
    const known = [...before]
    const left = openHandles().filter((handle) => {
      const index = known.indexOf(handle)
      if (index >= 0) known.splice(index, 1)
      return index < 0
    })
    if (left.length === 0 || Date.now() > deadline) return left
  }
}
