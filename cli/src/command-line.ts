/** `sallyport`: the only file that uses the process. Everything else gets a Shell. */
import { homedir } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { SallyportError } from '@sallyport/sdk'
import { ownWords, parseWords, refuseTokens } from './arguments.ts'
import { commands } from './commands.ts'
import { candidates } from './completion.ts'
import { addressForNew } from './credentials.ts'
import { exitCodes } from './exit-codes.ts'
import type { ExitCode } from './exit-codes.ts'
import { CommandFailure, describeFailure, usageError } from './failures.ts'
import { findCommand } from './find-command.ts'
import { commandHelp, overview } from './help.ts'
import { moveAdminTokens } from './move-admin-tokens.ts'
import { createOutput } from './output.ts'
import type { Output } from './output.ts'
import { openProfiles } from './profiles.ts'
import { ask } from './prompt.ts'
import type { Shell } from './shell.ts'
import { inLine, safeJson } from './terminal-text.ts'
import { version } from './version.ts'

export async function runCommandLine(words: string[]): Promise<void> {
  const output = createOutput(process.stdout, process.stderr, process.env)
  // The reader closed the pipe, as in `| head`.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(exitCodes.closedPipe))
  try {
    process.exitCode = await dispatch(words, output)
  } catch (error) {
    process.exitCode = report(error, words, output)
  }
}

async function dispatch(words: string[], output: Output): Promise<number> {
  const [first, ...others] = words
  if (first === '__complete') return complete(words.slice(words.indexOf('--') + 1), output)
  refuseTokens(words)
  if (first === '--version') {
    output.line(version)
    return exitCodes.done
  }
  const found = findCommand(commands, first === 'help' ? others : words)
  if (!found) {
    const stray = words.find((word) => !['help', '--help', '-h'].includes(word))
    if (stray !== undefined) throw usageError(`unknown option ${inLine(stray)}`, 'List all commands: sallyport --help')
    output.line(overview(commands, output.style).trimEnd())
    return exitCodes.done
  }
  const { command, rest } = found
  const { options, operands, repeated } = parseWords(command, first === 'help' ? ['--help'] : rest)
  if (options['help'] === true) {
    output.line(commandHelp(command, commands, output.style).trimEnd())
    return exitCodes.done
  }
  const shell: Shell = {
    env: process.env,
    platform: process.platform,
    home: homedir(),
    output,
    stdin: () => buffer(process.stdin),
    ask: process.stdin.isTTY
      ? (question, { isHidden } = { isHidden: false }) => ask(process.stdin, process.stderr, question, isHidden)
      : undefined,
    ...interruption(),
    profile: options['profile'] as string | undefined,
    url: options['url'] as string | undefined,
    json: options['json'] === true,
  }
  moveAdminTokens(shell)
  try {
    return (await command.run(shell, options, operands, repeated)) ?? exitCodes.done
  } catch (error) {
    throw error instanceof SallyportError && error.code === 'no_answer' ? noAnswer(shell) : error
  }
}

/** Names the URL, which is usually what is wrong. */
function noAnswer(shell: Shell): CommandFailure {
  const { baseUrl, from } = addressForNew(shell)
  return new CommandFailure(exitCodes.unavailable, `${baseUrl} did not respond`, {
    code: 'no_answer',
    hint: `Is the service running there? The address comes from: ${from}`,
  })
}

/** The first Ctrl-C lets a command clean up and report. The second one ends it. */
function interruption(): Pick<Shell, 'interrupted' | 'releaseSignals'> {
  const controller = new AbortController()
  const signals = ['SIGINT', 'SIGTERM'] as const
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted)
    controller.abort(new CommandFailure(exitCodes.interrupted, 'stopped', { code: 'interrupted' }))
    process.stdin.destroy()
  }
  for (const signal of signals) process.on(signal, interrupt)
  return {
    interrupted: controller.signal,
    releaseSignals: () => {
      for (const signal of signals) process.off(signal, interrupt)
    },
  }
}

function complete(words: string[], output: Output): ExitCode {
  const profiles = () => {
    const place = { env: process.env, platform: process.platform, home: homedir(), profile: undefined }
    return openProfiles(place).list()
  }
  for (const one of candidates(commands, words, profiles)) output.line(one)
  return exitCodes.done
}

function report(error: unknown, words: string[], output: Output): ExitCode {
  const { exitCode, code, message, hint, facts } = describeFailure(error)
  if (error instanceof CommandFailure && error.isSilent) return exitCode
  if (ownWords(words).includes('--json')) {
    output.say(safeJson(JSON.stringify({ error: { code, message, ...facts, exit_code: exitCode } })))
    return exitCode
  }
  const { sayStyle } = output
  const name = ['cli', 'usage', 'unexpected', 'interrupted'].includes(code) ? '' : `${code}: `
  output.say(`${sayStyle('red', 'sallyport:')} ${inLine(`${name}${message}`)}`)
  if (hint !== undefined) output.say(sayStyle('dim', inLine(hint)))
  return exitCode
}
