import { join } from 'node:path'
import { prepare, root, run } from './prepare.mjs'

const node = prepare()
process.exitCode = await run(node, [join(root, 'server/bin/sallyport-server.mjs'), ...process.argv.slice(2)])
