/**
 * The command of a run: it has our terminal, our standard streams and our process group. It gets our signals, and its end
 * is ours.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { accessSync, constants as modes, readFileSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { codeOf } from '../config-folder.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure } from '../failures.ts'
import { inLine } from '../terminal-text.ts'

/**
 * The terminal, and a shell's `fg`, send these to the whole foreground group, and so to the command itself. A second
 * SIGCONT from us could come late and continue a command that has stopped again.
 */
const ofTerminal: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGTSTP', 'SIGCONT']
/** Without a listener SIGUSR1 would open Node's debugger, through which others could read our token. */
const passedOn: readonly NodeJS.Signals[] = [...ofTerminal, 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']
/** We would leave a core file with our token in it. */
const dumpsCore = /^SIG(?:QUIT|ILL|TRAP|ABRT|IOT|BUS|FPE|SEGV|XCPU|XFSZ|SYS)$/
const stopPollMs = 250

export interface Ending {
  code: number
  /** That ended it. */
  signal: NodeJS.Signals | null
}

/** Throws with the exit code of a shell if there is no such program. */
export function findProgram(name: string, path = ''): string {
  const isPath = name.includes('/')
  const places = isPath ? [name] : path.split(delimiter).map((folder) => join(folder === '' ? '.' : folder, name))
  const files = places.filter(isFile)
  const program = files.find(isExecutable)
  if (program !== undefined) return program
  const [file] = files
  if (file !== undefined) throw notExecutable(name, 'EACCES')
  throw new CommandFailure(exitCodes.noProgram, `${inLine(name)}: command not found`, {
    code: 'command_not_found',
    ...(!isPath && { hint: 'It is in no folder of PATH.' }),
  })
}

/** `releaseSignals` is called once they are passed on: none may end us in between and leave the command alone. */
export async function runProgram(
  [name = '', ...args]: string[],
  env: Record<string, string>,
  releaseSignals: () => void,
): Promise<Ending> {
  // Listeners are called in a later turn, when the command has started.
  const release = passOnSignals((signal) => child.kill(signal))
  releaseSignals()
  const child = spawn(name, args, { env, stdio: 'inherit' })
  const ended = new Promise<Ending>((resolve, reject) => {
    child.once('error', (error) => {
      // Later errors are of signals that could not be sent.
      if (child.pid === undefined) reject(notExecutable(name, codeOf(error)))
    })
    child.once('exit', (code, signal) => {
      resolve({ code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]), signal })
    })
  })
  const timer = followStops(child)
  try {
    return await ended
  } finally {
    clearInterval(timer)
    release()
  }
}

/** Ends this process by the signal that ended the command: a shell tells that from an exit code. */
export function endAs({ signal }: Ending): void {
  if (signal !== null && !dumpsCore.test(signal)) process.kill(process.pid, signal)
}

function passOnSignals(send: (signal: NodeJS.Signals) => void): () => void {
  const known = passedOn.filter((signal) => signal in constants.signals)
  const listeners = known.map((signal) => {
    const listener = () => {
      if (!ofTerminal.includes(signal) || !isForeground()) send(signal)
      if (signal === 'SIGTSTP') stop()
    }
    process.on(signal, listener)
    return [signal, listener] as const
  })
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}

/** A command can stop by itself, and only its parent would notice. One look is not enough: it may be about to go on. */
function followStops({ pid }: ChildProcess): NodeJS.Timeout {
  let looks = 0
  return setInterval(() => {
    looks = isForeground() && stateOf(pid)?.state === 'T' ? looks + 1 : 0
    if (looks < 2) return
    looks = 0
    stop()
  }, stopPollMs)
}

/** The shell started this process, so it sees here that the command has stopped. */
function stop(): void {
  process.kill(process.pid, 'SIGSTOP')
}

/** Whether our group has the terminal. */
function isForeground(): boolean {
  const state = stateOf(process.pid)
  return state === undefined ? process.stdin.isTTY : state.group === state.terminalGroup
}

/** From Linux's /proc (proc(5)). The second field is a file name, which may contain anything. */
function stateOf(pid = 0): { state: string; group: number; terminalGroup: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', , group, , , terminalGroup] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, group: Number(group), terminalGroup: Number(terminalGroup) }
  } catch {
    return undefined
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, modes.X_OK)
    return true
  } catch {
    return false
  }
}

function notExecutable(name: string, reason: string): CommandFailure {
  return new CommandFailure(exitCodes.notExecutable, `${inLine(name)} can't be executed (${reason})`, {
    code: 'command_not_executable',
  })
}
