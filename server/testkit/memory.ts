import { existsSync, statfsSync } from 'node:fs'

/** In containers the in-memory file system is often much smaller. */
const roomyBytes = 1024 ** 3

/** A folder in memory for temporary files, as the tests commit and delete a lot. */
export function findMemory(): string | undefined {
  const memory = '/dev/shm'
  if (!existsSync(memory)) return undefined
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > roomyBytes ? memory : undefined
}
