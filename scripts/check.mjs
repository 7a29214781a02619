// Format, lint, types, architecture: all checks that do not run the service.
import { spawn } from 'node:child_process'
import { prepare, root, withPinnedNode } from './prepare.mjs'

const node = prepare({ build: false })
// Lint and types take longest, so the others run beside them.
const groups = [
  [['Lint and types', 'node_modules/oxlint/bin/oxlint']],
  [
    ['Format', 'node_modules/oxfmt/bin/oxfmt', '--check'],
    ['Architecture', '--test', 'server/src/architecture.test.ts', 'server/src/docs-names.test.ts'],
  ],
]

/** Prints its output when it has ended, so that the outputs of two do not mix. */
async function passes([name, ...args]) {
  const output = []
  const child = spawn(node, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: withPinnedNode(node) })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  process.stdout.write(`${name} …\n${output.join('')}`)
  if (code !== 0) console.error(`${name} failed (see above).`)
  return code === 0
}

const outcomes = await Promise.all(
  groups.map(async (steps) => {
    for (const step of steps) if (!(await passes(step))) return false
    return true
  }),
)
process.exitCode = outcomes.every(Boolean) ? 0 : 1
if (process.exitCode === 0) console.log('All checks passed.')
