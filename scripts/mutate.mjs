// `npm run mutate`: breaks what each row of e2e/spec-coverage.md says and runs its test, which has to fail.
// `-- --row "text"` takes the rows that hold this text.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare({ build: false })
process.exitCode = await run(node, ['scripts/mutate.ts', ...process.argv.slice(2)], withPinnedNode(node))
