// `npm run bench`: design-time promises about speed, measured beside a bare relay. `-- --quick` for a first look.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare()
process.exitCode = await run(node, ['bench/bench.ts', ...process.argv.slice(2)], withPinnedNode(node))
