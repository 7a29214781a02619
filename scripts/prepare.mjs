// Prepares a clone: installs the packages of the lockfile, builds what is stale, and finds the pinned Node.
// Runs on the machine's Node (20 or newer), before anything is installed.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')

/**
 * Installs packages and, unless told otherwise, builds what runs here, or everything. What the sources need is always
 * built. Returns the path of the Node to run.
 */
export function prepare({ build = true, all = false } = {}) {
  install()
  const node = pinnedNode()
  buildStale(node, ({ isForSources = false, isForOthers = false }) => isForSources || (build && (all || !isForOthers)))
  return node
}

/**
 * Runs a command in the clone and exits with its code. A terminal sends Ctrl-C to both processes; SIGTERM is passed on.
 */
export function run(command, args, env = process.env) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', env })
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(code ?? (signal ? 1 : 0)))
  })
}

/** Makes the tools in node_modules use the pinned Node too. */
export function withPinnedNode(node) {
  return { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` }
}

export function install() {
  if (isInstalled()) return
  timed('Installing dependencies (the first time takes a minute)', () => {
    // Older npm versions warn about our engine before the pinned Node is installed.
    must('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], process.env)
  })
}

/**
 * Whether node_modules has every package of package-lock.json. npm writes a list of what it installed to node_modules
 * as its last step, with every command. Optional packages may be missing, as on other platforms.
 */
export function isInstalled() {
  const list = join(modules, '.package-lock.json')
  if (!existsSync(list)) return false
  const installed = JSON.parse(readFileSync(list, 'utf8')).packages
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return Object.entries(wanted).every(([path, { version, integrity, optional, devOptional }]) => {
    // The clone itself.
    if (path === '') return true
    const found = installed[path]
    if (found === undefined) return optional === true || devOptional === true
    return found.version === version && found.integrity === integrity && existsSync(join(root, path))
  })
}

function pinnedNode() {
  const pinned = join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node')
  if (existsSync(pinned)) return pinned
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  console.error(
    `Sallyport needs Node 24 or newer; this is ${process.version}, and no pinned one installs on ${process.platform}-${process.arch}.`,
  )
  process.exit(1)
}

/** The builds: their source folders and files, and an output file that shows that it was built. */
const builds = [
  {
    name: 'scanner',
    folders: ['server/assembly'],
    output: 'server/dist/scan.wasm',
    command: ['node_modules/assemblyscript/bin/asc.js', '--config', 'server/assembly/asconfig.json'],
    isForSources: true,
  },
  {
    name: 'service',
    folders: ['protocol/src', 'server/src'],
    files: ['SKILL.md'],
    output: 'server/dist/sallyport-server.js',
    command: ['scripts/bundle.mjs'],
  },
  {
    name: 'pages',
    folders: ['protocol/src', 'sdk/src', 'web'],
    output: 'server/dist/pages/index.html',
    command: ['node_modules/vite/bin/vite.js', 'build', '--config', 'web/vite.config.ts', '--logLevel', 'warn'],
  },
  {
    name: 'command line',
    folders: ['protocol/src', 'sdk/src', 'cli'],
    output: 'cli/dist/sallyport.js',
    command: ['scripts/bundle-cli.mjs'],
  },
  {
    name: 'SDK',
    folders: ['protocol/src', 'sdk/src'],
    output: 'sdk/dist/index.js',
    command: ['scripts/bundle-sdk.mjs'],
    isForOthers: true,
  },
]

function buildStale(node, isWanted) {
  for (const { name, folders, files = [], output, command } of builds.filter(isWanted)) {
    const stamp = join(root, dirname(output), `.built-${name.replaceAll(' ', '-')}`)
    const wanted = hash(
      [...['scripts', ...folders].flatMap(sourcesIn), ...files.map((file) => join(root, file))]
        .sort()
        .map((file) => `${relative(root, file)} ${statSync(file).mtime.getTime()} ${statSync(file).size}`)
        .join('\n'),
    )
    const isBuilt = existsSync(join(root, output)) && existsSync(stamp)
    if (isBuilt && readFileSync(stamp, 'utf8') === wanted) continue
    timed(`Building the ${name}`, () => {
      must(node, command, process.env)
    })
    writeFileSync(stamp, wanted)
  }
}

function sourcesIn(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => !/[\\/](?:node_modules|dist)[\\/]/.test(file))
}

function must(command, args, env) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env })
  if (status !== 0) process.exit(status ?? 1)
}

function timed(what, work) {
  process.stderr.write(`${what} …\n`)
  const start = Date.now()
  work()
  process.stderr.write(`${what.split(' (')[0]} took ${((Date.now() - start) / 1000).toFixed(1)} s.\n`)
}

function hash(content) {
  return createHash('sha256').update(content).digest('hex')
}
