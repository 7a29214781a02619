// Writes server/dist/sallyport-server.js: one file starts in two thirds of the time that thousands of small ones take.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { root } from './prepare.mjs'

/** pg asks whether they are there; they are not. */
const absent = ['pg-cloudflare', 'pg-native']

/** What packages of the older kind expect to find. */
const commonJs = `
import { createRequire as requireFrom } from 'node:module'
const require = requireFrom(import.meta.url)
const { dirname: __dirname, filename: __filename } = import.meta
const swaggerUiFile = require.resolve('@fastify/swagger-ui')
`

/** It serves files of its own, which it looks for beside itself: they stay where they are. */
const besideItsFiles = {
  name: 'beside its files',
  setup: ({ onLoad }) => {
    onLoad({ filter: /@fastify.swagger-ui.(index|lib.routes)\.js$/ }, ({ path }) => {
      const folder = path.endsWith('routes.js') ? "path.join(swaggerUiFile, '../lib')" : 'path.dirname(swaggerUiFile)'
      return { contents: readFileSync(path, 'utf8').replaceAll('__dirname', folder) }
    })
  },
}

const { outputFiles } = await build({
  entryPoints: [join(root, 'server/src/commands/command-line.ts')],
  outfile: join(root, 'server/dist/sallyport-server.js'),
  bundle: true,
  write: false,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  banner: { js: commonJs },
  external: absent,
  plugins: [besideItsFiles],
  logLevel: 'warning',
})

// Outside ASCII there are comments and regular expressions left. V8 keeps a text of ASCII alone in half the memory.
const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
for (const { path, text } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text.replace(/[^\0-\x7f]/g, escaped))
}
