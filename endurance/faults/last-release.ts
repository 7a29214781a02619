/** The build of the release before this version, to run beside it. */
import { execFile, execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { copyCommit } from '../../scripts/scratch-copy.ts'

const root = resolve(import.meta.dirname, '../..')

export interface Build {
  commit: string
  executable: string
}

/** Takes a minute, in another process: this one runs the network of the instances. */
export async function buildLastRelease(folder: string): Promise<Build> {
  const commit = lastRelease()
  const to = join(folder, `release-${commit}`)
  copyCommit(root, commit, to)
  const build = "import('./scripts/prepare.mjs').then(({ prepare }) => prepare())"
  await promisify(execFile)(process.execPath, ['-e', build], { cwd: to })
  return { commit, executable: join(to, 'server/bin/sallyport-server.mjs') }
}

/** The newest tag. Before the first release: the oldest commit that knows the schema of this one, so the furthest from it. */
function lastRelease(): string {
  try {
    return git('describe', '--tags', '--abbrev=0', '--match', 'v*')
  } catch {
    return git('log', '-1', '--format=%h', '--', 'server/src/migrations/*.ts')
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
