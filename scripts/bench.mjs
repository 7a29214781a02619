// `npm run bench`: performance targets, measured in comparison with a minimal relay. `-- --quick` for a rough result.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare()
process.exitCode = await run(node, ['bench/bench.ts', ...process.argv.slice(2)], withPinnedNode(node))
