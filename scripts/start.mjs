import { join } from 'node:path'
import { prepare, root, run } from './prepare.mjs'

const args = process.argv.slice(2)
const isDemo = args.includes('--demo')
const node = prepare()
if (node !== process.execPath) {
  process.exitCode = await run(node, [
    join(root, isDemo ? 'demo/start.ts' : 'server/bin/sallyport-server.mjs'),
    ...args,
  ])
} else if (isDemo) {
  const { runDemo } = await import('../demo/start.ts')
  process.exitCode = await runDemo(args, process.env)
} else {
  // Once the pinned Node is installed, npm runs it: then this process becomes the service.
  process.argv = [node, join(root, 'server/bin/sallyport-server.mjs'), ...args]
  await import('../server/bin/sallyport-server.mjs')
}
