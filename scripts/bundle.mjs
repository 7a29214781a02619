// Writes server/dist/sallyport-server.js. Packages that load files of their own at run time stay outside.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './prepare.mjs'

const inside = ['@fastify/type-provider-typebox', '@sallyport/protocol', 'kysely', 'typebox']
const { dependencies } = JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8'))

await build({
  entryPoints: [join(root, 'server/src/commands/command-line.ts')],
  outfile: join(root, 'server/dist/sallyport-server.js'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  external: [...Object.keys(dependencies).filter((name) => !inside.includes(name)), 'ajv-formats'],
  logLevel: 'warning',
})
