/** Makes the files of a release in dist/. Their bytes depend on the sources and the lockfile only. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { completionScripts } from '../../cli/src/completion.ts'
import { systemdUnit } from '../../server/src/commands/systemd-unit.ts'
import { billOfMaterials, lockfile, root } from './bill-of-materials.ts'
import { cliManual, serverManual } from './manual.ts'
import { readTar, writeTar } from './tar.ts'
import type { Entry } from './tar.ts'

const allPlatforms = ['linux-x64', 'linux-arm64']
const out = join(root, 'dist')
const workspaces = ['server', 'cli', 'sdk'] as const
const { version } = JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8')) as { version: string }

/** Where the unit file expects the release. */
const home = '/opt/sallyport'

function release(platforms: readonly string[]): void {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out)
  npm('pack', ...workspaces.flatMap((name) => ['-w', name]), '--pack-destination', out)
  const bill = billOfMaterials(version)
  writeFileSync(join(out, `sallyport-${version}.cdx.json`), bill)
  const shared = [...packages(), ...ownFiles(), file('sbom.cdx.json', bill)]
  for (const platform of platforms) {
    const folder = `sallyport-${version}-${platform}`
    const entries = [...shared, ...nodeOf(platform)].map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }))
    writeFileSync(join(out, `${folder}.tar.gz`), writeTar(entries))
  }
  const sums = readdirSync(out)
    .sort()
    .map((name) => `${digest('sha256', readFileSync(join(out, name)), 'hex')}  ${name}\n`)
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  process.stdout.write(sums.join(''))
}

/** The same files as in the npm packages. */
function packages(): Entry[] {
  return workspaces.flatMap((name) =>
    readTar(readFileSync(join(out, `sallyport-${name}-${version}.tgz`))).map((entry) => ({
      ...entry,
      path: entry.path.replace(/^package\//, `${name}/`),
      // npm makes them executable when it installs them.
      isExecutable: /^package\/bin\//.test(entry.path),
    })),
  )
}

function ownFiles(): Entry[] {
  const start = (program: string, script: string) => ({
    ...file(`bin/${program}`, starter(script)),
    isExecutable: true,
  })
  const help = execFileSync(process.execPath, ['server/bin/sallyport-server.mjs', '--help'], {
    cwd: root,
    encoding: 'utf8',
  })
  const unit = systemdUnit([`${home}/node/bin/node`, `${home}/server/bin/sallyport-server.mjs`])
  return [
    start('sallyport-server', 'server/bin/sallyport-server.mjs'),
    start('sallyport', 'cli/bin/sallyport.mjs'),
    file('lib/systemd/system/sallyport.service', unit),
    file('share/man/man1/sallyport.1', cliManual(version)),
    file('share/man/man8/sallyport-server.8', serverManual(version, help)),
    file('share/bash-completion/completions/sallyport', completionScripts.bash),
    file('share/zsh/site-functions/_sallyport', completionScripts.zsh),
    file('share/fish/vendor_completions.d/sallyport.fish', completionScripts.fish),
    ...['LICENSE', 'docs/install.md'].map((name) =>
      file(name.replace('docs/install', 'INSTALL'), readFileSync(join(root, name), 'utf8')),
    ),
  ]
}

/** Only the shell's own commands, and readlink for a link to it: the PATH may hold nothing else. */
function starter(script: string): string {
  return `#!/bin/sh
# Runs on the Node of this release, whatever is on the PATH.
file=$0
while [ -h "$file" ]; do
  link=$(readlink "$file")
  case $link in
    /*) file=$link ;;
    *) file=\${file%/*}/$link ;;
  esac
done
home=$(cd "\${file%/*}/.." && pwd -P)
exec "$home/node/bin/node" "$home/${script}" "$@"
`
}

const wantedOfNode: [from: string, to: string][] = [
  ['bin/node', 'node/bin/node'],
  ['LICENSE', 'node/LICENSE'],
]

/** The pinned Node of a platform. npm has checked the installed one against the lockfile, and installs only this machine's. */
function nodeOf(platform: string): Entry[] {
  const name = `node-${platform}`
  const installed = join(root, 'node_modules', name)
  const found = existsSync(installed)
    ? wantedOfNode.map(([path]) => ({ path: `package/${path}`, bytes: readFileSync(join(installed, path)) }))
    : fetched(name)
  return wantedOfNode.map(([from, path]) => {
    const bytes = found.find((entry) => entry.path === `package/${from}`)?.bytes
    if (!bytes) throw new Error(`${name} lacks ${from}`)
    return { path, bytes, isExecutable: path === 'node/bin/node' }
  })
}

function fetched(name: string): Entry[] {
  const locked = lockfile.packages[`node_modules/${name}`]
  if (!locked?.version) throw new Error(`package-lock.json has no ${name}`)
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-node-'))
  try {
    npm('pack', `${name}@${locked.version}`, '--pack-destination', folder)
    const tarball = readFileSync(join(folder, `${name}-${locked.version}.tgz`))
    if (`sha512-${digest('sha512', tarball, 'base64')}` !== locked.integrity) {
      throw new Error(`${name} is not the package that package-lock.json names`)
    }
    return readTar(tarball)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function file(path: string, text: string): Entry {
  return { path, bytes: Buffer.from(text), isExecutable: false }
}

function npm(...args: string[]): void {
  execFileSync('npm', [...args, '--loglevel=error'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
}

function digest(algorithm: string, bytes: Uint8Array, encoding: 'hex' | 'base64'): string {
  return createHash(algorithm).update(bytes).digest(encoding)
}

const [option, platform, ...rest] = process.argv.slice(2)
if (option === undefined) release(allPlatforms)
else if (option === '--platform' && allPlatforms.includes(platform ?? '') && rest.length === 0)
  release([platform ?? ''])
else {
  process.stderr.write(`release accepts only --platform ${allPlatforms.join(' or ')}.\n`)
  process.exitCode = 2
}
