/** The built service as its own process, on either database. Tests use only its API and signals. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { after, before } from 'node:test'
import type { TestContext } from 'node:test'
import { migratedPostgres } from '../server/testkit/databases.ts'
import { freePort } from '../server/testkit/ports.ts'
import { callService } from './http-call.ts'
import type { Call, Reply } from './http-call.ts'

export const thisBuild = resolve(import.meta.dirname, '../server/bin/sallyport-server.mjs')
const guardMs = 60_000
/** The service closes a connection that is idle for longer; a test that blocked its own process sees that too late. */
const reuseMs = 2_000

export type Engine = 'sqlite' | 'postgres'
export type Environment = Record<string, string>
type Scope = Pick<TestContext, 'after'>

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface RunningService {
  readonly pid: number
  readonly port: number
  readonly env: Environment
  readonly dataDir: string
  readonly adminToken: string
  /** The output of the current process. */
  readonly stdout: string
  /** The logs of all processes of this service so far. */
  readonly log: string
  /** Milliseconds from spawn to the start screen, for the current process. */
  readonly startMs: number
  call: (method: string, path: string, call?: Call) => Promise<Reply>
  register: (name?: string) => Promise<{ agentId: string; token: string }>
  signal: (signal: NodeJS.Signals) => void
  exited: () => Promise<Exit>
  stop: () => Promise<Exit>
  kill: () => Promise<Exit>
  /** Starts it again on the same data and port, after a stop or kill. Changed settings and places stay changed. */
  startAgain: (changes?: Environment, elsewhere?: Place) => Promise<void>
}

/** A folder that is deleted when the test ends, after its processes have exited. */
export function dataFolder(t: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-e2e-'))
  t.after(async () => {
    for (const [child, { env, exit }] of alive) {
      if (!Object.values(env).some((value) => value.startsWith(folder))) continue
      child.kill('SIGKILL')
      await exit
    }
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Settings that let many clients work at once from one address. */
export const roomy: Environment = {
  SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000000',
  SALLYPORT_REGISTRATIONS_PER_DAY: '1000000',
  SALLYPORT_SANDBOX_STARTS_PER_HOUR: '1000000',
  SALLYPORT_SANDBOX_CALLS_PER_SECOND: '1000',
  SALLYPORT_SANDBOX_BURST: '10000',
}

export async function settingsFor(t: Scope, engine: Engine, changes: Environment = {}): Promise<Environment> {
  const common = {
    PATH: process.env['PATH'] ?? '',
    PORT: String(await freePort()),
    // Its usual port is for one service of a machine.
    SALLYPORT_GATEWAY_PORT: 'off',
    SALLYPORT_LOG_FORMAT: 'json',
    // How busy it is depends on the machine. Tests of load shedding turn it on.
    SALLYPORT_UNAPPROVED_REQUESTS_PER_SECOND: '0',
  }
  if (engine === 'sqlite') return { ...common, SALLYPORT_DATA_DIR: dataFolder(t), ...changes }
  return {
    ...common,
    SALLYPORT_DATA_DIR: dataFolder(t),
    SALLYPORT_ADMIN_TOKEN: `sp_admin_${randomBytes(24).toString('hex')}`,
    ...(changes['SALLYPORT_MASTER_KEY_FILE'] === undefined && {
      SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64url'),
    }),
    ...(changes['DATABASE_URL'] === undefined && { DATABASE_URL: await migratedPostgres(t) }),
    ...changes,
  }
}

export async function startService(
  t: Scope,
  engine: Engine,
  changes: Environment = {},
  given: Place = {},
): Promise<RunningService> {
  const place = { ...given }
  const env = await settingsFor(t, engine, changes)
  const dataDir = env['SALLYPORT_DATA_DIR'] ?? ''
  let earlierLog = ''
  let running = await launch(t, env, place)
  let connections = new Agent({ keepAlive: true })
  let inFlight = 0
  let usedAt = 0
  const call: RunningService['call'] = async (method, path, what = {}) => {
    if (inFlight === 0 && performance.now() - usedAt > reuseMs) {
      connections.destroy()
      connections = new Agent({ keepAlive: true })
    }
    inFlight++
    try {
      return await callService(env, connections, method, path, what)
    } finally {
      inFlight--
      usedAt = performance.now()
    }
  }
  const exited = async () => {
    const exit = await within(running.exit, 'the service did not end')
    connections.destroy()
    return exit
  }
  const signal = (name: NodeJS.Signals) => {
    running.child.kill(name)
  }
  return {
    env,
    dataDir,
    call,
    signal,
    exited,
    get pid() {
      return running.child.pid ?? 0
    },
    get port() {
      return Number(env['PORT'])
    },
    get adminToken() {
      return env['SALLYPORT_ADMIN_TOKEN'] ?? readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
    },
    get stdout() {
      return running.stdout()
    },
    get log() {
      return earlierLog + running.stderr()
    },
    get startMs() {
      return running.startMs
    },
    register: async (name = 'an agent') => {
      const { status, body, text } = await call('POST', '/v4/agents/register', { body: { name } })
      if (status !== 201) throw new Error(`a registration was answered ${status}: ${text}`)
      return { agentId: body.agent.agent_id as string, token: body.access_token as string }
    },
    stop: () => {
      signal('SIGTERM')
      return exited()
    },
    kill: () => {
      signal('SIGKILL')
      return exited()
    },
    startAgain: async (settings = {}, elsewhere = {}) => {
      Object.assign(env, settings)
      Object.assign(place, elsewhere)
      earlierLog += running.stderr()
      running = await launch(t, env, place)
      connections = new Agent({ keepAlive: true })
    },
  }
}

/** One service for all tests of a suite, if they do not affect each other. */
export function sharedService(engine: Engine, changes: Environment = {}): () => RunningService {
  const hooks: (() => unknown)[] = []
  let service: RunningService | undefined
  before(async () => {
    service = await startService({ after: (hook) => hooks.push(hook as () => unknown) }, engine, changes)
  })
  after(async () => {
    for (const hook of hooks) await hook()
  })
  return () => {
    if (!service) throw new Error('the service is not started yet')
    return service
  }
}

interface Launched extends Spawned {
  startMs: number
}

/** Rejects with the log if the start fails. */
async function launch(t: Scope, env: Environment, place: Place): Promise<Launched> {
  for (let attempt = 1; ; attempt++) {
    const started = performance.now()
    const spawned = spawnServer(t, [], env, place)
    const shown = Promise.withResolvers<'ready'>()
    spawned.child.stdout?.on('data', () => {
      // The last of the lines to paste is the end of the screen.
      if (/\/v4\/sandbox\/echo"\}'\n/.test(spawned.stdout())) shown.resolve('ready')
    })
    const outcome = await within(Promise.race([shown.promise, spawned.exit]), 'the service did not start')
    if (outcome === 'ready') return { ...spawned, startMs: performance.now() - started }
    // Between finding a free port and using it, another test may take it.
    if (attempt === 3 || !/Port \d+ is in use/.test(spawned.stderr())) {
      throw new Error(`the service ended with ${outcome.code}: ${spawned.stderr()}`)
    }
    env['PORT'] = String(await freePort())
  }
}

interface Spawned {
  child: ChildProcess
  exit: Promise<Exit>
  stdout: () => string
  stderr: () => string
}

const alive = new Map<ChildProcess, { env: Environment; exit: Promise<Exit> }>()
process.on('exit', () => {
  for (const child of alive.keys()) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Runs it from another folder than the clone, or writes its output to a file. */
export interface Place {
  node?: string
  executable?: string
  output?: string
}

export function spawnServer(t: Scope, args: string[], env: Environment, place: Place = {}): Spawned {
  const stdout = place.output === undefined ? 'pipe' : openSync(place.output, 'a')
  const command = [place.executable ?? thisBuild, ...args]
  const child = spawn(place.node ?? process.execPath, command, { env, stdio: ['ignore', stdout, 'pipe'] })
  if (typeof stdout === 'number') closeSync(stdout)
  const output = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const exit = once(child, 'close').then(([code, signal]) => {
    alive.delete(child)
    return { code, signal }
  })
  alive.set(child, { env, exit })
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return { child, exit, stdout: () => output.stdout, stderr: () => output.stderr }
}

/** Runs a command such as `keys rotate` until it exits; also a start that is expected to fail. */
export async function runServer(t: Scope, args: string[], env: Environment) {
  const { exit, stdout, stderr } = spawnServer(t, args, env)
  const { code } = await within(exit, `"${args.join(' ')}" did not end: ${stderr()}`)
  return { code, stdout: stdout(), stderr: stderr() }
}

/** A timeout against hanging; no test measures time with it. */
export async function within<T>(work: Promise<T>, complaint: string | (() => string)): Promise<T> {
  const guard = new AbortController()
  const late = sleep(guardMs, undefined, { signal: guard.signal }).then(() => {
    throw new Error(typeof complaint === 'string' ? complaint : complaint())
  })
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    guard.abort()
  }
}

/** Polls until the condition is true, a limited number of times. */
export async function eventually(
  isSo: () => Promise<boolean> | boolean,
  complaint: string,
  attempts = 400,
): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (await isSo()) return
    await sleep(50)
  }
  throw new Error(complaint)
}
