// The SDK as others install it. In the repository its package.json names TypeScript sources and the protocol; what is
// published names one bundled file and its types, and needs nothing.
//   sdk-package.mjs              writes sdk/dist
//   sdk-package.mjs to FOLDER    writes the whole package elsewhere
//   sdk-package.mjs pack         before npm packs: besides puts the published package.json in place
//   sdk-package.mjs packed       after that: puts the repository's own back
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './prepare.mjs'
import { writeTypes } from './sdk-types.mjs'

const sdk = join(root, 'sdk')
const manifest = join(sdk, 'package.json')
const putAside = join(sdk, 'package.repository.json')

const [step, folder] = process.argv.slice(2)
// Also after one that was broken off.
if (existsSync(putAside)) renameSync(putAside, manifest)
if (step === undefined || step === 'pack') await writeDist(sdk)
if (step === 'pack') {
  const text = published()
  renameSync(manifest, putAside)
  writeFileSync(manifest, text)
}
if (step === 'to') {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), published())
  copyFileSync(join(sdk, 'README.md'), join(folder, 'README.md'))
  await writeDist(folder)
}

async function writeDist(parent) {
  const dist = join(parent, 'dist')
  rmSync(dist, { recursive: true, force: true })
  await build({
    entryPoints: [join(sdk, 'src/index.ts')],
    outfile: join(dist, 'index.js'),
    bundle: true,
    platform: 'neutral',
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
  })
  writeTypes(root, dist)
  copyFileSync(join(root, 'LICENSE'), join(dist, 'LICENSE'))
}

function published() {
  const { name, version, description, license, type } = JSON.parse(readFileSync(manifest, 'utf8'))
  const members = {
    ...{ name, version, description, license, type },
    engines: { node: '>=20' },
    sideEffects: false,
    exports: { '.': { types: './dist/types/sdk/index.d.ts', default: './dist/index.js' } },
    files: ['dist'],
  }
  return `${JSON.stringify(members, null, 2)}\n`
}
