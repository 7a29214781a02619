/** Copies SQLite's database to a file while the service runs, and checks what it wrote. */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { readConfig } from '../config/config.ts'
import { bytesOf, copySnapshot, freeBytes, isTaken, publish, withDraft } from '../platform/database/sqlite-copy.ts'
import { assertOwnDirectory, databaseFile, masterKeySource } from '../platform/operations/instance.ts'
import { readContents } from './backup-contents.ts'
import { CommandRefused } from './command-refused.ts'

const mebibyte = 1024 * 1024

export async function backup(env: NodeJS.ProcessEnv, options: string[]): Promise<number> {
  const [given, ...rest] = options
  if (given === undefined || given.startsWith('-') || rest.length > 0) {
    process.stderr.write('backup needs the name of a file that does not exist yet: sallyport-server backup <file>\n')
    return 2
  }
  process.umask(0o077)
  const config = readConfig(env)
  assertOwnDirectory(config, { isService: false })
  if (config.databaseUrl.isSet) {
    throw new CommandRefused(
      "The database is PostgreSQL (DATABASE_URL). Back it up with PostgreSQL's own tools: docs/runbook.md has the commands.",
    )
  }
  const file = databaseFile(config)
  if (!existsSync(file)) {
    throw new CommandRefused(
      `No database at ${file}. Run this with the settings of the service (SALLYPORT_DATA_DIR), or start the service once.`,
    )
  }
  const masterKeys = await masterKeySource(config).read()
  const target = resolve(given)
  assertRoom(file, target, config.diskFloorBytes)
  const { records, newestAt } = await withDraft(target, async (draft) => {
    await copySnapshot(realpathSync(file), draft)
    const contents = readContents(draft, `The copy of ${file}`, masterKeys)
    publish(draft, target)
    return contents
  })
  const newest = newestAt ? `, the newest of ${newestAt.toISOString()}` : ''
  const lines = [
    `✓ ${target}: ${(statSync(target).size / mebibyte).toFixed(1)} MiB, ${records} audit records${newest}`,
    '✓ checked: complete, and the master key opens it',
    'It needs the master key of today, which is not in it. Keep that elsewhere: whoever has both has every credential.',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

/** A backup on the service's own disk must not take the room that the service needs. */
function assertRoom(file: string, target: string, floorBytes: number): void {
  const folder = dirname(target)
  if (isTaken(target)) throw new CommandRefused(`${target} exists, and is left as it is. Choose another name.`)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CommandRefused(`${folder} is not a folder. Create it first.`)
  }
  const isSameDisk = statSync(folder).dev === statSync(file).dev
  const needed = bytesOf(file) + (isSameDisk ? floorBytes : 0)
  const free = freeBytes(folder)
  if (free >= needed) return
  const kept = isSameDisk ? ', with what the service itself must keep free (SALLYPORT_DISK_FLOOR_BYTES)' : ''
  throw new CommandRefused(
    `A backup in ${folder} needs ${Math.ceil(needed / mebibyte)} MiB${kept}, and ${Math.floor(free / mebibyte)} MiB are free. Free some, or use another disk.`,
  )
}
