/**
 * A real browser for tests: the one that SALLYPORT_TEST_BROWSER names, one that this machine has, one that playwright
 * can fetch, or Debian's own. Says on standard error which it took, and what it does meanwhile.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
const macApplications = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** With a profile of its own, which goes when it is closed. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await findBrowser(), args: flags })
}

/** The path of a browser, which is fetched or installed if need be: that may take minutes. */
export async function findBrowser(): Promise<string> {
  const given = process.env['SALLYPORT_TEST_BROWSER']
  if (given) {
    if (!isProgram(given)) throw new Error(`SALLYPORT_TEST_BROWSER: "${given}" is no program`)
    return take(given, 'SALLYPORT_TEST_BROWSER')
  }
  const found = findOnMachine()
  if (found !== undefined) return take(found, 'found on this machine')
  if (existsSync(chromium.executablePath())) return take(chromium.executablePath(), 'fetched before')
  if (await fetchWithPlaywright()) return take(chromium.executablePath(), 'fetched')
  const installed = (await installOnDebian()) ? findOnMachine() : undefined
  if (installed !== undefined) return take(installed, 'installed with apt-get')
  throw new Error(
    'No browser for the tests: none is on this machine, and none could be fetched or installed (see above). ' +
      'Install Chromium or Chrome, or name one with SALLYPORT_TEST_BROWSER.',
  )
}

function take(path: string, how: string): string {
  say(`Browser for the tests: ${path} (${how})`)
  return path
}

function findOnMachine(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const candidates = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return [...candidates, ...macApplications].find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

async function fetchWithPlaywright(): Promise<boolean> {
  say('No browser on this machine; playwright fetches one (this can take minutes) …')
  const cli = join(dirname(createRequire(import.meta.url).resolve('playwright-core/package.json')), 'cli.js')
  const isFetched = await run(process.execPath, [cli, 'install', '--no-shell', 'chromium'])
  return isFetched && existsSync(chromium.executablePath())
}

async function installOnDebian(): Promise<boolean> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false
  say('Installing the package chromium with apt-get (this can take minutes) …')
  // Another installation may be under way.
  const quietly = ['-qq', '-o', 'DPkg::Lock::Timeout=300']
  return (
    (await run('apt-get', [...quietly, 'update'])) &&
    (await run('apt-get', [...quietly, 'install', '--yes', '--no-install-recommends', 'chromium']))
  )
}

/** What the command prints is worth reading only where it failed, and then its end. */
async function run(command: string, args: string[]): Promise<boolean> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    const lines = output.split('\n').filter((line) => /^\S/.test(line))
    if (code !== 0) say(`That ended with ${code}: ${lines.slice(-2).join(' ')}`)
    return code === 0
  } catch (error) {
    say(`${command} could not be run: ${String(error)}`)
    return false
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
