// `npm run endurance`: well-behaved agents are measured while others attack. `-- --seconds 20` for a short run.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare()
process.exitCode = await run(node, ['endurance/endurance.ts', ...process.argv.slice(2)], withPinnedNode(node))
