// Runs the service from its TypeScript sources and restarts it at every change.
import { prepare, run } from './prepare.mjs'

const node = prepare({ build: false })
process.exitCode = await run(node, [
  '--watch',
  '--watch-preserve-output',
  'server/src/commands/command-line.ts',
  ...process.argv.slice(2),
])
