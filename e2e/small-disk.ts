/** A small disk that a test can fill. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** Mounts a file system of this many mebibytes. Undefined if that needs root. */
export function mountSmallDisk(t: Pick<TestContext, 'after'>, mebibytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-disk-'))
  // PostgreSQL runs as another user, with its own folder in here.
  const options = `size=${mebibytes}m,mode=0711`
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder])
  t.after(() => {
    // Lazily: the service on it is stopped by a hook that runs after this one.
    if (status === 0) spawnSync('umount', ['--lazy', folder])
    rmdirSync(folder)
  })
  return status === 0 ? folder : undefined
}

/** Fills the disk, as another program could. */
export function fillDisk(file: string): void {
  const opened = openSync(file, 'w')
  const bytes = Buffer.alloc(1024 * 1024, 1)
  try {
    for (;;) writeSync(opened, bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(opened)
  }
}
