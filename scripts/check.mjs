// Format, lint, types, architecture: everything that can be judged without running the service.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare({ build: false })
const steps = [
  ['Format', 'node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'],
  ['Types', 'node_modules/typescript/bin/tsc', '--project', 'tsconfig.json'],
  ['Types of the pages', 'node_modules/typescript/bin/tsc', '--project', 'web/tsconfig.json'],
  ['Lint', 'node_modules/eslint/bin/eslint.js', '--max-warnings=0', '.'],
  ['Architecture', '--test', 'server/src/architecture.test.ts'],
]
for (const [name, ...args] of steps) {
  console.log(`${name} …`)
  const code = await run(node, args, withPinnedNode(node))
  if (code !== 0) {
    console.error(`${name} found something (see above).`)
    process.exit(code)
  }
}
console.log('All checks passed.')
