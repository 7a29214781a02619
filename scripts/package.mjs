// Prepares what npm packs of a workspace: the built files, and a package.json without dependencies, scripts or sources.
// The repository's package.json refers to TypeScript and workspaces, so it is replaced while npm packs.
//   package.mjs prepack     builds what is stale and puts the published files in place
//   package.mjs postpack    restores the repository's files
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

/** Everything is bundled, so there are no dependencies. `publishConfig` has the members that differ, as in pnpm. */
function published({ publishConfig, ...members }) {
  const kept = Object.entries(members).filter(([name]) => !['dependencies', 'private', 'scripts'].includes(name))
  return `${JSON.stringify({ ...Object.fromEntries(kept), ...publishConfig }, null, 2)}\n`
}
