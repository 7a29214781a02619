/** The packages as npm packs them, and installs of them in folders that hold nothing else. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Environment } from './running-service.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '..')
const cloned = [
  ...['cli', 'protocol', 'scripts', 'sdk', 'server', 'web'],
  ...['docs', 'LICENSE', 'SKILL.md', 'package-lock.json', 'package.json', 'tsconfig.json'],
]

/** An environment with this Node and the system's programs, without the clone or the user's settings. */
export function plainEnvironment(home: string): Environment {
  const npm = (process.env['PATH'] ?? '').split(delimiter).find((one) => existsSync(join(one, 'npm')))
  const path = [dirname(process.execPath), ...(npm === undefined ? [] : [npm]), '/usr/bin', '/bin']
  return { PATH: path.join(delimiter), HOME: home }
}

/** The platform of the machine that tests, for which a release can be made without a registry. */
export const platform = `${process.platform}-${process.arch}`

/**
 * Runs `npm run release` in a copy of the clone, for this platform. Returns the folder of its files. `isRebuilt`: with bundles
 * that are built there, not those of this clone.
 */
export async function makeRelease(folder: string, { isRebuilt = false } = {}): Promise<string> {
  mkdirSync(folder)
  const clone = copyClone(folder)
  if (isRebuilt) {
    for (const name of ['server/dist/sallyport-server.js', 'cli/dist/sallyport.js']) rmSync(join(clone, name))
    // Bundlers follow links, so its packages must be in the folder itself. Hard links are fast, where there can be some.
    const modules = join(clone, 'node_modules')
    const copy = (how: string) => {
      rmSync(modules, { recursive: true, force: true })
      return run('cp', [how, join(root, 'node_modules'), modules])
    }
    await copy('-al').catch(() => copy('-a'))
  }
  await run('npm', ['run', 'release', '--', '--platform', platform], { cwd: clone, env: plainEnvironment(folder) })
  return join(clone, 'dist')
}

/** Copies the clone into the folder: `npm pack` changes files there for a moment. Returns the path of the copy. */
export function copyClone(folder: string): string {
  const clone = join(folder, 'clone')
  for (const name of cloned) {
    const filter = (path: string) => basename(path) !== 'compile-cache'
    cpSync(join(root, name), join(clone, name), { recursive: true, preserveTimestamps: true, filter })
  }
  // A folder of links, so that changes in the copy do not affect the clone's node_modules.
  const modules = join(clone, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(root, 'node_modules'))) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  // Left behind by a service that ran in the clone.
  for (const name of ['server', 'cli']) {
    mkdirSync(join(clone, name, 'dist/compile-cache'), { recursive: true })
    writeFileSync(join(clone, name, 'dist/compile-cache/entry'), '')
  }
  return clone
}

/** Runs `npm pack` in a copy of the clone. Returns the tarball of each workspace. */
export async function packWorkspaces<Name extends string>(
  folder: string,
  names: readonly Name[],
): Promise<Record<Name, string>> {
  const clone = copyClone(folder)
  const tarballs = join(folder, 'tarballs')
  mkdirSync(tarballs)
  const args = ['pack', ...names.flatMap((name) => ['-w', name]), '--pack-destination', tarballs]
  await run('npm', args, { cwd: clone, env: plainEnvironment(folder) })
  const left = names.filter((name) => existsSync(join(clone, name, 'package.repository.json')))
  if (left.length > 0) throw new Error(`npm pack left the published package.json in ${left.join(', ')}`)
  const files = readdirSync(tarballs)
  const entries = names.map((name) => [name, join(tarballs, files.find((file) => file.includes(`-${name}-`)) ?? '')])
  return Object.fromEntries(entries) as Record<Name, string>
}

/** Installs a tarball into an empty folder, without a registry or a cache, and returns the folder. */
export async function installAlone(folder: string, tarball: string): Promise<string> {
  const app = join(folder, `app-${basename(tarball, '.tgz')}`)
  mkdirSync(app)
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], {
    cwd: app,
    env: plainEnvironment(app),
  })
  return app
}
