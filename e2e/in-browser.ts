/** A test in a real browser against the built service, and the steps that such tests share. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from '../server/testkit/browser.ts'
import type { BrowserWanted } from '../server/testkit/browser.ts'
import { freePort } from '../server/testkit/ports.ts'
import { sharedService } from './running-service.ts'
import type { Environment, RunningService } from './running-service.ts'

const port = await freePort()
export const base = `http://localhost:${port}`
/** The service of a test file, after `serve()`. */
export let service: () => RunningService = () => {
  throw new Error('no service: the test file calls serve() first')
}
const wanted: BrowserWanted = {}
let browser: Promise<Browser> | undefined

after(async () => {
  await (await browser)?.close()
})

/** The service of a test file, with its settings. */
export function serve(settings: Environment = {}): void {
  service = sharedService('sqlite', { PORT: String(port), ...settings })
}

/** For test files with notifications. */
export function inWholeBrowser(): void {
  wanted.isWhole = true
}

/** The start screen of the service. */
export function startScreen(): string {
  return service().stdout
}

export function adminToken(): string {
  return service().adminToken
}

/** Its database, to change times that would take a day to pass. */
export function databaseFile(): string {
  return join(service().dataDir, 'sallyport.db')
}

export async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return fetch(base + path, { ...init, body: JSON.stringify(body) })
}

export function postAsAdmin(path: string, body: object = {}): Promise<Response> {
  return post(path, body, { authorization: `Bearer ${service().adminToken}` })
}

export async function issueLink(email: string): Promise<{ login_url: string; login_token: string }> {
  const name = email.split('@')[0]
  const reply = await postAsAdmin('/v4/auth/login-tokens', { email, name })
  return (await reply.json()) as { login_url: string; login_token: string }
}

export async function isUsable(loginToken: string): Promise<boolean> {
  return (await post('/v4/auth/login/preview', { login_token: loginToken })).ok
}

/** Opens a page in a new browser context, with its own cookies and history. */
export type Visit = (url?: string) => Promise<Page>

/** The browser logs this for every error response, even an expected one. */
export const notSignedIn = '401 /v4/auth/me'
/** A page keeps sending requests until it notices that its session was ended elsewhere. */
export const sessionIsOver = '401 /v4/'
export const linkIsOver = '401 /v4/auth/login/preview'

/** A test that also fails if the browser logs anything unexpected: a CSP violation, an error. */
export function inBrowser(
  name: string,
  expected: string[],
  run: (visit: Visit, complaints: string[]) => Promise<void>,
): void {
  test(name, async () => {
    const complaints: string[] = []
    const contexts: BrowserContext[] = []
    const visit: Visit = async (url = base) => {
      browser ??= launchBrowser(wanted)
      // The tests' providers have their own CA.
      const context = await (await browser).newContext({ ignoreHTTPSErrors: true, reducedMotion: 'reduce' })
      contexts.push(context)
      context.setDefaultTimeout(60_000)
      const page = await context.newPage()
      // Before sign-in, the page's request for the current user is a 401.
      let hasSession = false
      context.on('response', (response) => {
        if (response.ok() && /\/v4\/auth\/(?:me|login)$/.test(response.url())) hasSession = true
      })
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (line) => {
        if (!['error', 'warning'].includes(line.type())) return
        const status = /responded with a status of (\d+)/.exec(line.text())?.[1]
        const complaint = status ? `${status} ${new URL(line.location().url).pathname}` : line.text()
        if (hasSession || complaint !== notSignedIn) complaints.push(complaint)
      })
      await page.goto(url)
      return page
    }
    try {
      await run(visit, complaints)
      assert.deepEqual(
        complaints.filter((one) => !expected.some((start) => one.startsWith(start))),
        [],
      )
    } finally {
      await Promise.all(contexts.map((context) => context.close()))
    }
  })
}

/** Waits for a view. Its heading has the focus, so that screen readers announce it. */
export async function sees(page: Page, heading: string): Promise<void> {
  await page
    .locator('h1:focus')
    .and(page.getByRole('heading', { name: heading, exact: true }))
    .waitFor()
}

/** Waits for a view after a double click, whose second click may move the focus from the heading. */
export async function shows(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { name: heading, exact: true }).waitFor()
}

export async function hears(page: Page, text: string | RegExp): Promise<void> {
  await page.getByRole('status').filter({ hasText: text }).waitFor()
}

export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click()
}

export async function signIn(visit: Visit, email: string): Promise<Page> {
  const page = await visit((await issueLink(email)).login_url)
  await press(page, 'Sign in')
  await sees(page, 'Home')
  await showsWho(page, email.split('@')[0] ?? '')
  return page
}

/** The header shows the signed-in user. */
export async function showsWho(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: `Signed in as ${name}`, exact: true }).waitFor()
}
