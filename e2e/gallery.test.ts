/**
 * Screenshots of every page, in both colour schemes, for phone, desktop and a wide screen. The pictures are for people to look
 * through; the test fails if a page violates accessibility rules or its CSP, calls another host, or is wider
 * than the screen.
 */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { after, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from '../server/testkit/browser.ts'
import { startOAuthServer } from '../server/testkit/oauth-server.ts'
import { freePort } from '../server/testkit/ports.ts'
import { faultsOf } from './accessible.ts'
import { liveIn } from './lived-in.ts'
import type { LivedIn } from './lived-in.ts'
import { roomy, sharedService } from './running-service.ts'

const folder = resolve(import.meta.dirname, '../.cache/screenshots')
const port = await freePort()
const baseUrl = `http://localhost:${port}`
const endings: (() => unknown)[] = []
const oauth = await startOAuthServer({ after: (end) => endings.push(end as () => unknown) })
await oauth.setRedirectUris([`${baseUrl}/v4/oauth/callback/acme`])
const service = sharedService('sqlite', {
  ...roomy,
  PORT: String(port),
  SALLYPORT_EGRESS_ALLOW: oauth.host,
  SALLYPORT_EGRESS_CA_FILE: oauth.caFile,
})

/** Three browsers, and a service with existing data. */
interface Setting {
  lived: LivedIn
  signedOut: BrowserContext
  signedIn: BrowserContext
  paired: BrowserContext
}

let setting: Promise<Setting> | undefined
let browser: Browser | undefined

async function settle(): Promise<Setting> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  browser = await launchBrowser()
  const lived = await liveIn({ baseUrl, adminToken: service().adminToken, oauth })
  const [signedOut, signedIn, paired] = [await open(browser), await open(browser), await open(browser)]
  await signedIn.addCookies([{ name: 'svc_session', value: lived.sessionToken, url: baseUrl }])
  await pair(paired, lived.pairingUrl)
  return { lived, signedOut, signedIn, paired }
}

after(async () => {
  await browser?.close()
  for (const end of endings) await end()
  process.stderr.write(`Pictures of all pages: ${folder}\n`)
})

interface Shown {
  name: string
  address: (lived: LivedIn) => string
  isSignedOut?: true
  /** In a browser that is paired as a device. */
  isPaired?: true
  /** Steps before the screenshot. */
  act?: (page: Page) => Promise<unknown>
}

const asAdmin = async (page: Page) => {
  await page.getByLabel('Admin token').fill(service().adminToken)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('navigation', { name: 'Administration' }).waitFor()
}

const views: Shown[] = [
  { name: 'sign-in', address: () => '/', isSignedOut: true },
  { name: 'sign-in-link', address: ({ loginUrl }) => loginUrl, isSignedOut: true },
  {
    name: 'approve',
    address: ({ waitingId }) => `/approve-proxy/${waitingId}`,
    // Its buttons are enabled after a moment.
    act: (page) => page.locator('button[aria-disabled=false]', { hasText: 'Deny' }).waitFor(),
  },
  { name: 'approve-signed-out', address: ({ waitingId }) => `/approve-proxy/${waitingId}`, isSignedOut: true },
  { name: 'approve-decided', address: ({ decidedId }) => `/approve-proxy/${decidedId}` },
  {
    name: 'approve-mistakes',
    address: ({ waitingId }) => `/approve-proxy/${waitingId}`,
    act: async (page) => {
      await page.locator('summary').filter({ hasText: 'Adjust' }).click()
      await page.getByLabel('Call limit').fill('many')
      await page.getByRole('radio', { name: 'Until a date' }).check()
      await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).click()
      await page.getByRole('alert').first().waitFor()
    },
  },
  { name: 'approve-denied', address: ({ deniedId }) => `/approve-proxy/${deniedId}` },
  { name: 'approve-unknown', address: () => `/approve-proxy/arq_${'0'.repeat(26)}` },
  {
    name: 'approve-call',
    address: ({ heldId }) => `/approve-call/${heldId}`,
    act: (page) => page.locator('button[aria-disabled=false]', { hasText: 'Deny' }).waitFor(),
  },
  { name: 'approve-call-done', address: ({ doneId }) => `/approve-call/${doneId}` },
  {
    name: 'approve-adjust',
    address: ({ waitingId }) => `/approve-proxy/${waitingId}`,
    act: async (page) => {
      await page.locator('summary').filter({ hasText: 'Adjust' }).click()
      await page.getByRole('button', { name: 'Add an exception' }).click()
      await page.locator('button[aria-disabled=false]', { hasText: 'Deny' }).waitFor()
    },
  },
  {
    name: 'home',
    address: () => '/',
    act: async (page) => {
      await page.getByRole('button', { name: 'Select all 2' }).click()
      await page.locator('button[aria-disabled=false]', { hasText: 'Deny 2' }).waitFor()
    },
  },
  { name: 'connect-agent', address: () => '/connect-agent' },
  {
    name: 'connect-agent-sandbox',
    address: () => '/connect-agent?client=sdk',
    act: async (page) => {
      await page.getByRole('button', { name: 'Run the sandbox' }).click()
      await page.getByRole('group', { name: 'The answer that the agent got' }).waitFor()
    },
  },
  { name: 'connections', address: () => '/connections' },
  { name: 'connections-new', address: () => '/connections/new' },
  {
    name: 'connections-new-search',
    address: () => '/connections/new',
    act: async (page) => {
      await page.getByRole('searchbox').fill('spotify')
      await page.getByText('Spotify is not set up yet').waitFor()
    },
  },
  { name: 'connections-form', address: () => '/connections/new/stripe' },
  {
    name: 'connections-form-methods',
    address: () => '/connections/new/github',
    act: (page) => page.getByRole('radio', { name: 'Personal access token' }).check(),
  },
  {
    name: 'connections-form-host',
    address: () => '/connections/new/zendesk',
    act: (page) => page.getByRole('textbox', { name: 'Subdomain' }).fill('acme'),
  },
  { name: 'connections-form-long', address: () => '/connections/new/aws' },
  {
    name: 'connections-form-file',
    address: () => '/connections/new/app',
    act: (page) => page.getByRole('textbox', { name: 'Private key' }).fill('-----BEGIN PRIVATE KEY-----'),
  },
  {
    name: 'connections-form-error',
    address: () => '/connections/new/perplexity',
    act: async (page) => {
      await page.getByRole('textbox', { name: 'API key' }).fill('short')
      await page.getByRole('button', { name: 'Connect' }).click()
      await page.getByRole('alert').waitFor()
    },
  },
  {
    name: 'connections-replace',
    address: () => '/connections',
    act: async (page) => {
      await page.getByRole('link', { name: 'Replace key: Research' }).click()
      await page.getByRole('textbox', { name: 'API key' }).waitFor()
    },
  },
  {
    name: 'connections-code',
    address: () => '/connections/new',
    act: async (page) => {
      await page.getByRole('button', { name: 'Use a code to connect Acme Mail' }).click()
      await page.getByRole('img', { name: /QR code for the same address/ }).waitFor()
    },
  },
  { name: 'grants', address: () => '/grants' },
  {
    name: 'grants-edit',
    address: () => '/grants',
    act: async (page) => {
      await page.locator('summary').filter({ hasText: 'Tighten or edit' }).first().click()
      await page.getByText(/^(In the last 30 days|It made no calls)/).waitFor()
    },
  },
  {
    name: 'agent',
    address: () => '/grants',
    act: async (page) => {
      await page.getByRole('link', { name: 'What it does: Mail helper' }).click()
      await page.getByRole('heading', { name: 'Today' }).waitFor()
    },
  },
  {
    name: 'grants-revoke',
    address: () => '/grants',
    act: async (page) => {
      await page.getByRole('button', { name: 'Revoke the access of Mail helper' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'grants-tool',
    address: () => '/grants',
    act: async (page) => {
      await page.locator('summary').filter({ hasText: 'Use it from a tool' }).first().click()
      await page
        .getByRole('button', { name: /^Copy the command for/ })
        .first()
        .waitFor()
    },
  },
  { name: 'activity', address: () => '/activity' },
  {
    name: 'activity-record',
    address: () => '/activity?outcome=answered',
    act: async (page) => {
      await page
        .getByRole('link', { name: /answered 200/ })
        .first()
        .click()
      await page.getByRole('heading', { name: 'Call details' }).waitFor()
    },
  },
  { name: 'devices', address: () => '/devices' },
  {
    name: 'devices-pairing',
    address: () => '/devices',
    act: async (page) => {
      await page.getByRole('button', { name: 'Pair a device' }).click()
      await page.getByText('A phone can’t pair at this address.').waitFor()
    },
  },
  { name: 'account', address: () => '/account' },
  { name: 'nowhere', address: () => '/conections' },
  { name: 'admin-token', address: () => '/admin', isSignedOut: true },
  { name: 'admin-providers', address: () => '/admin', act: asAdmin },
  {
    name: 'admin-providers-none',
    address: () => '/admin',
    act: async (page) => {
      await asAdmin(page)
      await page.getByLabel('Search providers').fill('no such provider')
      await page.getByText('No matches').waitFor()
    },
  },
  { name: 'admin-set-up', address: () => '/admin/providers/google', act: asAdmin },
  { name: 'admin-set-up-done', address: () => '/admin/providers/github', act: asAdmin },
  { name: 'admin-agents', address: () => '/admin/agents', act: asAdmin },
  { name: 'admin-users', address: () => '/admin/users', act: asAdmin },
  { name: 'admin-health', address: () => '/admin/health', act: asAdmin },
  { name: 'authenticator-pair', address: ({ pairingUrl }) => pairingUrl, isSignedOut: true },
  { name: 'authenticator-waiting', address: () => '/authenticator', isPaired: true },
  {
    name: 'authenticator-decide',
    address: ({ waitingId }) => `/authenticator#request=${waitingId}`,
    isPaired: true,
    act: (page) => page.locator('button[aria-disabled=false]', { hasText: 'Sign and deny' }).waitFor(),
  },
  {
    name: 'authenticator-call',
    address: ({ heldId }) => `/authenticator#request=${heldId}`,
    isPaired: true,
    act: (page) => page.locator('button[aria-disabled=false]', { hasText: 'Sign and deny' }).waitFor(),
  },
  {
    name: 'authenticator-answered',
    address: ({ waitingId }) => `/authenticator#request=${waitingId}`,
    isPaired: true,
    act: async (page) => {
      await page.locator('button[aria-disabled=false]', { hasText: 'Sign and deny' }).click()
      await page.getByRole('heading', { name: 'Denied' }).waitFor()
    },
  },
]

const schemes = ['light', 'dark'] as const
const screens = [
  { name: 'wide', size: { width: 1920, height: 1080 } },
  { name: 'desktop', size: { width: 1280, height: 860 } },
  { name: 'phone', size: { width: 390, height: 844 } },
]
/**
 * Colours depend on the scheme and layout on the width, so two of the combinations show every problem. On wide screens
 * the same parts stand beside one another.
 */
const judged = ['light-desktop', 'dark-phone']

for (const view of views) {
  test(`${view.name}, in both schemes and all widths`, async () => {
    const { lived, signedOut, signedIn, paired } = await (setting ??= settle())
    const context = view.isPaired ? paired : view.isSignedOut ? signedOut : signedIn
    assert.deepEqual(await show(view, new URL(view.address(lived), baseUrl).href, context), [])
  })
}

function open(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({ reducedMotion: 'reduce' })
}

async function pair(context: BrowserContext, pairingUrl: string): Promise<void> {
  const page = await context.newPage()
  await page.goto(pairingUrl)
  await page.getByRole('button', { name: 'Pair' }).click()
  await page.getByRole('heading', { name: 'Waiting for you' }).waitFor()
  await page.close()
}

async function show({ name, act }: Shown, address: string, context: BrowserContext): Promise<string[]> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (line) => {
    const isAnswer = /responded with a status of 40[014]/.test(line.text())
    if (['error', 'warning'].includes(line.type()) && !isAnswer) complaints.push(line.text())
  })
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== baseUrl) complaints.push(`called ${request.url()}`)
  })
  await page.goto(address)
  await page.locator('h1:focus').waitFor()
  await act?.(page)
  await page.locator('body:not(:has([role=progressbar][aria-label=Loading]))').waitFor()
  await page.evaluate('document.fonts.ready')
  for (const colorScheme of schemes) {
    for (const { name: screen, size } of screens) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize(size)
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
      const how = `${colorScheme}-${screen}`
      await page.screenshot({ path: `${folder}/${name}-${how}.png`, fullPage: true })
      if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) complaints.push(`${how}: too wide`)
      if (judged.includes(how)) complaints.push(...(await faultsOf(page)))
    }
  }
  complaints.push(...(await faultsAtZoom(page)))
  await page.close()
  return complaints
}

/** At 400 % a desktop has as many pixels (WCAG 2.2, 1.4.10): no scrolling sideways, and more than half is for reading. */
const zoomed = { width: 320, height: 256 }

async function faultsAtZoom(page: Page): Promise<string[]> {
  await page.setViewportSize(zoomed)
  const { isTooWide, fixed } = await page.evaluate<{ isTooWide: boolean; fixed: number }>(`(() => {
    const isFixed = (one) => ['fixed', 'sticky'].includes(getComputedStyle(one).position) && !one.closest('dialog')
    const heights = [...document.querySelectorAll('body *')].filter(isFixed).map((one) => one.getBoundingClientRect().height)
    const { scrollWidth } = document.documentElement
    return { isTooWide: scrollWidth > innerWidth, fixed: heights.reduce((sum, height) => sum + height, 0) }
  })()`)
  return [
    ...(isTooWide ? ['at 400 %: too wide'] : []),
    ...(fixed > zoomed.height / 2 ? [`at 400 %: ${fixed} px stay`] : []),
  ]
}
