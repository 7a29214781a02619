// `npm run tour`: OAuth from end to end, against a real authorization server, in half a minute.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare()
process.exitCode = await run(node, ['e2e/oauth-tour.ts', ...process.argv.slice(2)], withPinnedNode(node))
