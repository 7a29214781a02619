// `npm run mutate`: for each row of e2e/spec-coverage.md, breaks the code and runs the row's test, which has to fail.
// `-- --row "text"` selects the rows that contain this text.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare({ build: false })
process.exitCode = await run(node, ['scripts/mutate.ts', ...process.argv.slice(2)], withPinnedNode(node))
