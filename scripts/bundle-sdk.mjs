// Writes sdk/dist: the SDK with the protocol in one file, and self-contained types.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './prepare.mjs'
import { writeTypes } from './sdk-types.mjs'

const dist = join(root, 'sdk/dist')
rmSync(dist, { recursive: true, force: true })
await build({
  entryPoints: [join(root, 'sdk/src/index.ts')],
  outfile: join(dist, 'index.js'),
  bundle: true,
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
})
writeTypes(root, dist)
