// `npm run endurance`: well-behaved agents are measured while others attack. `-- --seconds 20` for a short run.
// `npm run endurance -- --faults`: while the service, its database and its network break in every way we know.
// `npm run endurance -- --tools`: the tests of `sallyport run` with all tools, also those that are dear to install or run.
import { prepare, run, withPinnedNode } from './prepare.mjs'

const args = process.argv.slice(2)
const isTools = args.includes('--tools')
const node = prepare({ all: isTools })
const file = args.includes('--faults') ? 'endurance/faults/suite.ts' : 'endurance/endurance.ts'
process.exitCode = isTools
  ? await run(node, ['scripts/run-tests.ts', '--test-timeout=900000', 'e2e/tools.test.ts'], {
      ...withPinnedNode(node),
      TEST_LONG_FORM: '1',
    })
  : await run(node, [file, ...args], withPinnedNode(node))
