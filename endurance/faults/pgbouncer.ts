/** A real PgBouncer (Debian's package) in front of a PostgreSQL server, on loopback, without passwords. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Scope } from '../../bench/processes.ts'
import { eventually } from '../../e2e/running-service.ts'
import { freePort } from '../../server/testkit/ports.ts'
import { isListening } from '../../server/testkit/ports.ts'

export interface Pgbouncer {
  port: number
  kill: () => Promise<void>
  startAgain: () => Promise<void>
}

/** It refuses to run as root. */
const nobody = 65_534

/** `poolSize`: sessions at the server; an instance uses up to `SALLYPORT_DATABASE_CONNECTIONS` and three more. */
export async function startPgbouncer(
  scope: Scope,
  serverPort: number,
  mode: 'session' | 'transaction',
  poolSize: number,
): Promise<Pgbouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-pgbouncer-'))
  const file = join(folder, 'pgbouncer.ini')
  const port = await freePort()
  writeFileSync(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${serverPort} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
server_login_retry = 1
default_pool_size = ${poolSize}
`,
  )
  for (const path of [folder, file]) chownSync(path, nobody, nobody)
  let child: ChildProcess | undefined
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const startAgain = async () => {
    const identity = { uid: nobody, gid: nobody, cwd: folder }
    const started = spawn('pgbouncer', [file], { ...identity, stdio: ['ignore', 'ignore', 'pipe'] })
    child = started
    let output = ''
    started.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await eventually(() => {
      if (started.exitCode !== null) throw new Error(`PgBouncer ended with ${started.exitCode}: ${output}`)
      return isListening(port)
    }, 'PgBouncer does not listen')
  }
  scope.after(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await startAgain()
  return { port, kill, startAgain }
}
