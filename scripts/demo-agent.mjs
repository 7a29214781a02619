// `npm run demo:agent`: the agent of the demo, in a second terminal.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare({ build: false })
process.exitCode = await run(node, ['demo/agent.ts', ...process.argv.slice(2)], withPinnedNode(node))
