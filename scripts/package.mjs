// What npm packs of a workspace: the built files, and a package.json without dependencies, scripts or sources. In the
// repository package.json names TypeScript and workspaces, so the published one takes its place while npm packs.
//   package.mjs prepack     builds what is stale and puts the published files in place
//   package.mjs postpack    puts the repository's own back
// Both run in the workspace's folder, by `npm pack -w server`.
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, root } from './prepare.mjs'

const folder = process.cwd()
const manifest = join(folder, 'package.json')
const repositoryManifest = join(folder, 'package.repository.json')
const license = join(folder, 'LICENSE')

// Also before packing, in case an earlier run was interrupted.
restore()
if (process.argv[2] === 'prepack') {
  prepare({ all: true })
  copyFileSync(join(root, 'LICENSE'), license)
  const text = published(JSON.parse(readFileSync(manifest, 'utf8')))
  renameSync(manifest, repositoryManifest)
  writeFileSync(manifest, text)
}

function restore() {
  if (existsSync(repositoryManifest)) renameSync(repositoryManifest, manifest)
  rmSync(license, { force: true })
}

/** Everything is bundled, so nothing is depended on. `publishConfig` has the members that differ, as pnpm knows them. */
function published({ publishConfig, ...members }) {
  const kept = Object.entries(members).filter(([name]) => !['dependencies', 'private', 'scripts'].includes(name))
  return `${JSON.stringify({ ...Object.fromEntries(kept), ...publishConfig }, null, 2)}\n`
}
