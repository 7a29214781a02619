/** `sallyport-server`: starts the service, and has commands for its operator. */
import { errorText } from './error-text.ts'
import { serve } from '../main.ts'
import { readVersion } from '../version.ts'
import { backup } from './backup.ts'
import { showConfig } from './config.ts'
import { doctor } from './doctor.ts'
import { followAudit } from './follow-audit.ts'
import { restore } from './restore/restore.ts'
import { rotateMasterKey } from './rotate-keys.ts'
import { rotateV1Key } from './rotate-v1-key.ts'
import { runAs } from './run-as.ts'
import { showSystemdUnit } from './systemd-unit.ts'
import { verifyAuditCommand } from './verify-audit.ts'

interface Command {
  words: string[]
  meaning: string
  /** Options that the command accepts. */
  options?: string
  /** Resolves to the exit code, or undefined if the process keeps running. */
  run: (env: NodeJS.ProcessEnv, options: string[]) => Promise<number | undefined>
}

const commands: Command[] = [
  {
    words: ['serve'],
    options: '[--user <name>]',
    meaning: 'run the service (the default command); if started by root, as that user',
    run: serveCommand,
  },
  {
    words: ['systemd-unit'],
    meaning: 'print a systemd unit that runs the service as a dedicated user',
    run: showSystemdUnit,
  },
  { words: ['config'], meaning: 'list every setting with its value, default and description', run: showConfig },
  { words: ['doctor'], meaning: 'check database, clock, files, keys, base URL, TLS and push', run: doctor },
  {
    words: ['backup'],
    options: '<file>',
    meaning: 'copy the SQLite database to a new file while the service runs, and check the copy',
    run: backup,
  },
  {
    words: ['restore'],
    options: '<file> | --in-place',
    meaning: 'put a backup in place of the database, while the service is stopped',
    run: restore,
  },
  { words: ['keys', 'rotate'], meaning: 'rotate the master key while the service runs', run: rotateMasterKey },
  { words: ['v1-key', 'rotate'], meaning: 'rotate the service key of the legacy v1 protocol', run: rotateV1Key },
  {
    words: ['audit', 'verify'],
    options: '[--head <text>]',
    meaning: 'check whether audit records were changed, removed or reordered',
    run: verifyAuditCommand,
  },
  {
    words: ['audit', 'follow'],
    options: '[--after <cursor>]',
    meaning: 'print audit records with their hashes as they are written, one JSON object a line',
    run: followAudit,
  },
]

export async function runCommandLine(args: string[]): Promise<void> {
  // The reader of a pipe may close it early. Finish the command anyway, so that the exit code is right.
  process.stdout.on('error', () => undefined)
  if (args.some((word) => ['--help', '-h', 'help'].includes(word))) {
    process.stdout.write(usage())
    return
  }
  if (args[0] === '--version') {
    process.stdout.write(`sallyport-server ${readVersion()}\n`)
    return
  }
  const words = args[0] === undefined || args[0].startsWith('--') ? ['serve', ...args] : args
  const command = commands.find(({ words: own, options }) => {
    const given = options === undefined ? words : words.slice(0, own.length)
    return own.join(' ') === given.join(' ')
  })
  if (!command) {
    process.stderr.write(`Unknown command "${words.join(' ')}".\n\n${usage()}`)
    process.exitCode = 2
    return
  }
  try {
    process.exitCode = await command.run(process.env, words.slice(command.words.length))
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`)
    process.exit(1)
  }
}

async function serveCommand(env: NodeJS.ProcessEnv, options: string[]): Promise<number | undefined> {
  const [option, user, ...rest] = options
  if (option !== undefined && (option !== '--user' || !user || rest.length > 0)) {
    process.stderr.write(`serve accepts only --user <name>.\n\n${usage()}`)
    return 2
  }
  if (user !== undefined) runAs(user, env)
  await serve(env, user)
  return undefined
}

function usage(): string {
  const rows = commands.map(({ words, options, meaning }) => {
    const call = [...words, ...(options === undefined ? [] : [options])].join(' ')
    return `  sallyport-server ${call.padEnd(30)} ${meaning}`
  })
  rows.push(`  sallyport-server ${'--version'.padEnd(30)} print the version`)
  return `Usage:\n${rows.join('\n')}\n`
}

if (import.meta.main) await runCommandLine(process.argv.slice(2))
