// `npm run film`: takes the pictures of docs/console.md again.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare()
process.exitCode = await run(node, ['e2e/film.ts', ...process.argv.slice(2)], withPinnedNode(node))
