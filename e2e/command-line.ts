/** The built command line as its own process: with pipes, as in a script, and on a pseudo-terminal. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Environment } from './running-service.ts'
import { within } from './running-service.ts'

export const executable = resolve(import.meta.dirname, '../cli/bin/sallyport.mjs')

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
  /** Standard output as it is. */
  bytes: Buffer
}

export interface Running {
  pid: number
  /** Both streams, as they came so far. */
  seen: () => string
  /** Resolves to all of the text so far, once it matches. */
  until: (pattern: RegExp) => Promise<string>
  signal: (signal: NodeJS.Signals) => void
  /** Types at its terminal. */
  type: (text: string) => void
  ended: Promise<Ended>
}

export interface RunOptions {
  env?: Environment
  input?: string | Buffer
  cwd?: string
  /** Another Node than the one of this test. */
  node?: string
  /** Options of Node, which programs that the command line starts don't inherit. */
  nodeOptions?: string[]
}

export interface CommandLine {
  /** Its home folder, which contains its credentials. */
  home: string
  env: Environment
  start: (words: string[], options?: RunOptions) => Running
  run: (words: string[], options?: RunOptions) => Promise<Ended>
  /** On a pseudo-terminal with this many columns, for both output streams. */
  startInTerminal: (words: string[], options?: RunOptions & { columns?: number }) => Running
  /** A shell with job control on a pseudo-terminal, in which `sallyport` is this command line. */
  startShell: (options?: RunOptions) => Running
  runInTerminal: (words: string[], options?: RunOptions & { columns?: number }) => Promise<Ended>
  /** The output of all its processes, for a check at the end. */
  printed: () => string
  /** Every secret in its files. */
  secrets: () => string[]
  /** Stops processes that a failed test left running. */
  stop: () => void
}

export function commandLineIn(home: string, more: Environment = {}): CommandLine {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'xterm-256color', ...more }
  let printed = ''
  const alive = new Set<ChildProcess>()
  const launch = (command: string, args: string[], { env: changes = {}, input, cwd = home }: RunOptions): Running => {
    const child = spawn(command, args, { env: { ...env, ...changes }, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
    alive.add(child)
    const chunks: Buffer[] = []
    let [seen, stderr] = ['', '']
    let wake = () => {}
    const took = (text: string) => {
      seen += text
      printed += text
      wake()
    }
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      took(chunk.toString('utf8'))
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
      took(text)
    })
    child.stdin.on('error', () => undefined)
    if (input !== undefined) child.stdin.end(input)
    const ended = once(child, 'close').then(([code]) => {
      alive.delete(child)
      const bytes = Buffer.concat(chunks)
      return { code: code as number | null, stdout: bytes.toString('utf8'), stderr, bytes }
    })
    return {
      pid: child.pid ?? 0,
      seen: () => seen,
      signal: (name) => child.kill(name),
      type: (text) => child.stdin.write(text),
      ended: within(ended, () => `"${args.join(' ')}" did not end: ${seen}`),
      until: async (pattern) => {
        const over = ended.then(() => 'over' as const)
        while (!pattern.test(seen)) {
          const more = new Promise<'more'>((resolve) => {
            wake = () => {
              resolve('more')
            }
          })
          const next = await within(Promise.race([more, over]), `never came ${String(pattern)}: ${seen}`)
          if (next === 'over' && !pattern.test(seen)) throw new Error(`it ended without ${String(pattern)}: ${seen}`)
        }
        return seen
      },
    }
  }
  const start: CommandLine['start'] = (words, options = {}) =>
    launch(options.node ?? process.execPath, [...(options.nodeOptions ?? []), executable, ...words], {
      input: '',
      ...options,
    })
  const startInTerminal: CommandLine['startInTerminal'] = (words, { columns = 100, ...options } = {}) => {
    const line = [process.execPath, ...(options.nodeOptions ?? []), executable, ...words].map(
      (word) => `'${word.replaceAll("'", String.raw`'\''`)}'`,
    )
    return launch('script', ['-qec', `stty cols ${columns}; exec ${line.join(' ')}`, '/dev/null'], options)
  }
  const startShell: CommandLine['startShell'] = (options = {}) => {
    const bin = join(home, 'bin')
    mkdirSync(bin, { recursive: true })
    const words = [process.execPath, ...(options.nodeOptions ?? []), executable]
    writeFileSync(join(bin, 'sallyport'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
    const path = `${bin}:${env.PATH}`
    const changes = { ...options.env, PATH: path, PS1: '$ ', HISTFILE: '' }
    return launch('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], { ...options, env: changes })
  }
  return {
    home,
    env,
    start,
    startShell,
    startInTerminal,
    run: (words, options) => start(words, options).ended,
    runInTerminal: async (words, options) => {
      const ended = await startInTerminal(words, options).ended
      return { ...ended, stdout: ended.stdout.replaceAll('\r\n', '\n') }
    },
    printed: () => printed,
    secrets: () => secretsBelow(join(home, '.config', 'sallyport')),
    stop: () => {
      for (const child of alive) child.kill('SIGKILL')
    },
  }
}

function secretsBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const text = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')).join('\n')
  return [...new Set(text.match(/sp_(?:agent|admin|mcp|session)_[\w-]{20,}/g) ?? [])]
}
