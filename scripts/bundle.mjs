// Writes server/dist/sallyport-server.js: one file starts in two thirds of the time that thousands of small ones take.
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './prepare.mjs'

/** They load files of their own at run time. */
const withFiles = ['@fastify/static', '@fastify/swagger', '@fastify/swagger-ui']

/** pg asks whether they are there; they are not. */
const absent = ['pg-cloudflare', 'pg-native']

/** What packages of the older kind expect to find. */
const commonJs = `
import { createRequire as requireFrom } from 'node:module'
const require = requireFrom(import.meta.url)
const { dirname: __dirname, filename: __filename } = import.meta
`

await build({
  entryPoints: [join(root, 'server/src/commands/command-line.ts')],
  outfile: join(root, 'server/dist/sallyport-server.js'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  banner: { js: commonJs },
  external: [...withFiles, ...absent],
  logLevel: 'warning',
})
