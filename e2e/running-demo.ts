/** `npm start -- --demo` and `npm run demo:agent` as separate processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { freePort } from '../server/testkit/ports.ts'
import { within } from './running-service.ts'

type Scope = Pick<TestContext, 'after'>
type Environment = Record<string, string>

export interface Program {
  pid: number
  stdout: () => string
  stderr: () => string
  /** Resolves to the first match, and fails if the program exits without one. */
  says: (words: RegExp) => Promise<RegExpExecArray>
  signal: (signal: NodeJS.Signals) => void
  /** Resolves to the exit code. */
  ended: () => Promise<number | null>
}

const root = resolve(import.meta.dirname, '..')

export function runProgram(t: Scope, args: string[], env: Environment): Program {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const exit = once(child, 'close').then(([code]) => code as number | null)
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const says: Program['says'] = (words) => {
    const { promise, resolve: found, reject } = Promise.withResolvers<RegExpExecArray>()
    const look = () => {
      const match = words.exec(output.stdout)
      if (match) found(match)
    }
    child.stdout.on('data', look)
    look()
    void exit.then((code) => {
      reject(new Error(`it ended with ${code} without ${words}: ${output.stdout}${output.stderr}`))
    })
    return within(promise, `it did not say ${words}: ${output.stdout}${output.stderr}`)
  }
  return {
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    says,
    signal: (signal) => void child.kill(signal),
    ended: () => within(exit, `it did not end: ${output.stdout}${output.stderr}`),
  }
}

export interface Demo extends Program {
  base: string
  mail: string
  link: string
  folder: string
  env: Environment
}

export async function startDemo(t: Scope, env: Environment): Promise<Demo> {
  const program = runProgram(t, ['demo/start.ts', '--demo'], env)
  await program.says(/Ctrl-C to stop everything\.\n/)
  const [link = ''] = await program.says(/http:\S+#login_token=\S+/)
  const [, mail = ''] = await program.says(/Acorn mail +(\S+)\//)
  const folder = join(env['SALLYPORT_DATA_DIR'] ?? '', 'demo')
  return { ...program, env, link, mail, folder, base: new URL(link).origin }
}

export async function demoSettings(t: Scope): Promise<Environment> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-demo-'))
  t.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return { SALLYPORT_DATA_DIR: folder, PORT: String(await freePort()) }
}

export function runAgent(t: Scope, env: Environment): Program {
  return runProgram(t, ['demo/agent.ts'], env)
}

/** Calls the service with this token. */
export function caller({ base }: Pick<Demo, 'base'>, token: string) {
  return async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const reply = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${path} was answered ${reply.status}: ${text}`)
    return JSON.parse(text) as unknown
  }
}

export function adminToken({ folder }: Pick<Demo, 'folder'>): string {
  const file = join(folder, 'service/admin-token')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
}
