// Writes cli/dist/sallyport.js with all its dependencies. Those of `sallyport mcp` are in a separate file beside it.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { licenseTexts } from './licenses.mjs'
import { root } from './prepare.mjs'

const outdir = join(root, 'cli/dist')
const { version } = JSON.parse(readFileSync(join(root, 'cli/package.json'), 'utf8'))

rmSync(outdir, { recursive: true, force: true })
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { sallyport: join(root, 'cli/src/command-line.ts') },
  outdir,
  bundle: true,
  metafile: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  define: { sallyportVersion: JSON.stringify(version) },
  // CommonJS packages load Node's modules with require().
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  logLevel: 'warning',
})
writeFileSync(join(outdir, 'licenses.md'), licenseTexts(metafile))
