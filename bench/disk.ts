import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './rounds.ts'

const times = 500
const page = Buffer.alloc(4096, 1)

/** The fastest durable write on this disk, in milliseconds: write one page to an existing file and sync it. */
export function syncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-disk-'))
  const file = openSync(join(folder, 'file'), 'w')
  const took: number[] = []
  try {
    for (const isThere of [false, true]) {
      for (let index = 0; index < times; index++) {
        const started = performance.now()
        writeSync(file, page, 0, page.length, index * page.length)
        fdatasyncSync(file)
        if (isThere) took.push(performance.now() - started)
      }
    }
    return median(took)
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true })
  }
}
