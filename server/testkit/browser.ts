/**
 * A real browser for tests: the one that SALLYPORT_TEST_BROWSER names, one that this machine has, Debian's, or one
 * that playwright can download. Reports on standard error which one it uses, and its progress. Most tests only need the
 * headless shell, which Debian has as a separate package: it opens pages in half the time.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { findProgram, installOnDebian, isProgram, run, say } from './programs.ts'

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

const shellNames = ['chromium-headless-shell', 'chrome-headless-shell']
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
const macApplications = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

export interface BrowserWanted {
  /** The full browser, with desktop features such as notifications. */
  isWhole?: boolean
}

/** With its own profile, which is deleted when it is closed. */
export async function launchBrowser(wanted: BrowserWanted = {}, more: string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: await findBrowser(wanted), args: [...flags, ...more] })
}

/** The path of a browser, which is downloaded or installed if necessary: that may take minutes. */
export async function findBrowser({ isWhole = false }: BrowserWanted = {}): Promise<string> {
  const given = process.env['SALLYPORT_TEST_BROWSER']
  if (given) {
    if (!isProgram(given)) throw new Error(`SALLYPORT_TEST_BROWSER: "${given}" is no program`)
    return take(given, 'SALLYPORT_TEST_BROWSER')
  }
  const shell = isWhole ? undefined : findProgram(shellNames)
  if (shell !== undefined) return take(shell, 'found on this machine')
  const found = findOnMachine()
  if (found !== undefined) return take(found, 'found on this machine')
  if (existsSync(chromium.executablePath())) return take(chromium.executablePath(), 'fetched before')
  const installed = (await installOnDebian(['chromium'])) ? findOnMachine() : undefined
  if (installed !== undefined) return take(installed, 'installed with apt-get')
  if (await fetchWithPlaywright()) return take(chromium.executablePath(), 'fetched')
  throw new Error(
    'No browser for the tests: none is on this machine, and none could be fetched or installed (see above). ' +
      'Install Chromium or Chrome, or name one with SALLYPORT_TEST_BROWSER.',
  )
}

/** A full one, on this machine. */
export function hasBrowser(): boolean {
  return Boolean(process.env['SALLYPORT_TEST_BROWSER'] ?? findOnMachine()) || existsSync(chromium.executablePath())
}

function take(path: string, how: string): string {
  say(`Browser for the tests: ${path} (${how})`)
  return path
}

function findOnMachine(): string | undefined {
  return findProgram(names) ?? macApplications.find(isProgram)
}

async function fetchWithPlaywright(): Promise<boolean> {
  say('No browser on this machine; playwright fetches one (this can take minutes) …')
  const cli = join(dirname(createRequire(import.meta.url).resolve('playwright-core/package.json')), 'cli.js')
  const isFetched = await run(process.execPath, [cli, 'install', '--no-shell', 'chromium'])
  return isFetched && existsSync(chromium.executablePath())
}
