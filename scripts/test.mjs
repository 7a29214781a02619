// `npm test`: installs and builds everything first. Arguments after `--` are test files or node:test options.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const node = prepare({ all: true })
const args = ['scripts/run-tests.ts', ...process.argv.slice(2)]
process.exitCode = await run(node, args, withPinnedNode(node))
