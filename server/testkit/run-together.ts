/**
 * Runs test files one after the other in this process, each as a suite with the file's name. A file is loaded when it
 * starts, has its own hooks, and has to leave the process unchanged for the next one.
 */
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { after, suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { measureFile } from './file-times.ts'

/** Adds the names of completed files to `finished`. */
export async function runTogether(files: readonly string[], finished: string, closingMs = 10_000): Promise<void> {
  // A hanging test reaches its timeout only while something keeps the process alive.
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
  // Handles that a file left open must not keep the run alive.
  setTimeout(() => process.exit(1), closingMs).unref()
}

function processState(): Map<string, unknown> {
  // The umask can be read only by setting it.
  const umask = process.umask(0o077)
  process.umask(umask)
  // Listeners for `exit` do not affect other files.
  const events = process.eventNames().filter((event) => event !== 'exit')
  return new Map<string, unknown>([
    ...Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value] as const),
    ...events.map((event) => [`listeners of ${String(event)}`, process.listenerCount(event)] as const),
    ['umask', umask],
    ['working folder', process.cwd()],
  ])
}

/** Only names, as values of the environment may be secret. */
function changedSince(before: ReadonlyMap<string, unknown>): string[] {
  const now = processState()
  const names = new Set([...before.keys(), ...now.keys()])
  return [...names].filter((name) => before.get(name) !== now.get(name))
}

/** Handles that keep the process alive. */
function openHandles(): string[] {
  return process.getActiveResourcesInfo()
}

/** Sockets and timers may take a moment to close, and a server a moment to appear. */
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
