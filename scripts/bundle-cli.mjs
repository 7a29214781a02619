// Writes cli/dist/sallyport.js with all that it needs. What only `sallyport mcp` needs is a file of its own beside it.
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
  // Packages in the older module format ask for Node's own by require().
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  logLevel: 'warning',
})
writeFileSync(join(outdir, 'licenses.md'), licenseTexts(metafile))
