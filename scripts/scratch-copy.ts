/** A copy of the working tree whose sources can be changed: packages are linked, our own are copied. */
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
