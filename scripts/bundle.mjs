// Writes server/dist/sallyport-server.js: one file starts in two thirds of the time that thousands of small ones take,
// and needs nothing of node_modules.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { licenseTexts } from './licenses.mjs'
import { root } from './prepare.mjs'

const dist = join(root, 'server/dist')

/** Optional dependencies of pg, which are not installed. */
const absent = ['pg-cloudflare', 'pg-native']

/** Globals that CommonJS packages expect. */
const commonJs = `
import { createRequire as requireFrom } from 'node:module'
const require = requireFrom(import.meta.url)
const { dirname: __dirname, filename: __filename } = import.meta
`

/**
 * `import` of a built-in module reads all that it exports, and one of node:http's exports loads Node's own copy of undici:
 * 14 MB of memory and 60 ms of each start. `require` reads only what is used.
 */
const requireHttp = {
  name: 'require node:http',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'node:http', namespace: 'required' } : undefined,
    )
    onLoad({ filter: /^/, namespace: 'required' }, () => ({ contents: "module.exports = require('node:http')" }))
  },
}

/** The index of undici loads its fetch, WebSocket and cache, which nothing here uses: 13 MB of memory. */
const clientsOfUndici = {
  name: 'clients of undici',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'clients' }))
    onLoad({ filter: /^/, namespace: 'clients' }, () => ({
      contents:
        "exports.Client = require('undici/lib/dispatcher/client.js')\n" +
        "exports.Pool = require('undici/lib/dispatcher/pool.js')",
      resolveDir: root,
    }))
  },
}

const explorer = JSON.parse(readFileSync(join(root, 'node_modules/openapi-explorer/package.json'), 'utf8'))

/** The script of the API reference. */
function copyExplorer() {
  const folder = join(dist, 'reference')
  mkdirSync(folder, { recursive: true })
  const script = readFileSync(join(root, 'node_modules/openapi-explorer/dist/browser/openapi-explorer.min.js'))
  const file = join(folder, 'openapi-explorer.js')
  writeFileSync(file, script)
  writeFileSync(`${file}.gz`, gzipSync(script, { level: 9 }))
  writeFileSync(`${file}.br`, brotliCompressSync(script))
}

const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: [join(root, 'server/src/commands/command-line.ts')],
  outfile: join(dist, 'sallyport-server.js'),
  bundle: true,
  minifyWhitespace: true,
  minifySyntax: true,
  write: false,
  metafile: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  banner: { js: commonJs },
  external: absent,
  plugins: [requireHttp, clientsOfUndici],
  // Its CommonJS build needs all of @smithy/core: ten times as much.
  alias: { '@smithy/signature-v4': join(root, 'node_modules/@smithy/signature-v4/dist-es/index.js') },
  define: { bundledAgentGuide: JSON.stringify(readFileSync(join(root, 'SKILL.md'), 'utf8')) },
  logLevel: 'warning',
})

/** What the explorer's script contains. */
const ofExplorer = ['openapi-explorer', ...Object.keys(explorer.dependencies)]

mkdirSync(dist, { recursive: true })
// Escape all non-ASCII characters: V8 stores an ASCII source in half the memory.
const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
for (const { path, text } of outputFiles) writeFileSync(path, text.replace(/[^\0-\x7f]/g, escaped))
copyExplorer()
// The scanner has parts of AssemblyScript's library; the last two are in
// the pages' styles.
const more = [...ofExplorer, 'assemblyscript', '@fontsource-variable/inter', 'tailwindcss']
writeFileSync(join(dist, 'licenses.md'), licenseTexts(metafile, more))
