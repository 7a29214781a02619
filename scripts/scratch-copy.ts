/** Copies of the tree whose sources can be changed: packages are linked, our own are copied. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

const built = ['server/dist', 'cli/dist', 'sdk/dist']
const ours = '@sallyport'

export function copyTree(root: string, to: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  for (const path of [...listed.split('\0').filter((name) => name !== ''), ...built]) {
    if (!existsSync(join(root, path))) continue
    mkdirSync(dirname(join(to, path)), { recursive: true })
    cpSync(join(root, path), join(to, path), { recursive: true, preserveTimestamps: true })
  }
  linkAllPackages(root, to)
}

/** The tree of another commit, not built. */
export function copyCommit(root: string, commit: string, to: string): void {
  mkdirSync(to, { recursive: true })
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1_000_000_000 })
  execFileSync('tar', ['-x'], { cwd: to, input: archive })
  linkAllPackages(root, to)
}

function linkAllPackages(root: string, to: string): void {
  for (const modules of ['node_modules', 'web/node_modules']) {
    if (existsSync(join(root, modules))) linkPackages(join(root, modules), join(to, modules))
  }
}

function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    // The links to our own packages are relative, so they point into the copy.
    if (name === ours) cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
    else symlinkSync(join(from, name), join(to, name))
  }
}
