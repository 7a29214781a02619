// `npm run release`: writes to dist/ what a version is published as: the npm packages, and for each platform a tarball that
// needs nothing else, not even Node. `-- --platform linux-x64` makes the tarball of one platform.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare({ all: true })
process.exitCode = await run(node, ['scripts/release/release.ts', ...process.argv.slice(2)], withPinnedNode(node))
