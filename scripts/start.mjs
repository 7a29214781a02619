import { join } from 'node:path'
import { prepare, root, run } from './prepare.mjs'

const node = prepare()
const server = join(root, 'server/bin/sallyport-server.mjs')
const args = process.argv.slice(2)
if (node === process.execPath) {
  // npm runs the pinned Node once it is installed: then this process becomes the service.
  process.argv = [node, server, ...args]
  await import('../server/bin/sallyport-server.mjs')
} else {
  process.exitCode = await run(node, [server, ...args])
}
