import { existsSync, statfsSync } from 'node:fs'

/** A container's memory file system is often much smaller. */
const roomyBytes = 1024 ** 3

/** Where files that nobody needs afterwards are made without a disk: the tests commit and delete all the time. */
export function findMemory(): string | undefined {
  const memory = '/dev/shm'
  if (!existsSync(memory)) return undefined
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > roomyBytes ? memory : undefined
}
