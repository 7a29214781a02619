// `npm run endurance`: well-behaved agents are measured while others attack. `-- --seconds 20` for a short run.
// `npm run endurance -- --faults`: while the service, its database and its network break in every way we know.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare()
const args = process.argv.slice(2)
const file = args.includes('--faults') ? 'endurance/faults/suite.ts' : 'endurance/endurance.ts'
process.exitCode = await run(node, [file, ...args], withPinnedNode(node))
