/** How soon each page is useful on a slow line, with an empty cache: its scripts, its time, and how far it moves. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { liveIn } from '../e2e/lived-in.ts'
import type { LivedIn } from '../e2e/lived-in.ts'
import { roomy, startService } from '../e2e/running-service.ts'
import { launchBrowser } from '../server/testkit/browser.ts'
import { startOAuthServer } from '../server/testkit/oauth-server.ts'
import { freePort } from '../server/testkit/ports.ts'
import { millis } from './report.ts'
import type { Row } from './report.ts'
import { median } from './rounds.ts'
import type { Bench } from './scenarios.ts'

/** 1.6 Mbit/s down, 750 kbit/s up, 150 ms: what browsers' tools call slow 4G. */
const line = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 }
const most = { scriptBytes: 150_000, ms: 2_500, shift: 0.02 }
/** The reference has the renderer as well. */
const mostOfReference = { ...most, scriptBytes: 300_000 }

interface View {
  path: (lived: LivedIn) => string
  isSignedOut?: true
  isUseful: (page: Page) => Promise<unknown>
  limits?: typeof most
}

const isShown = async (page: Page) => {
  await page.locator('h1:focus').waitFor()
  await page.locator('body:not(:has([role=progressbar][aria-label=Loading]))').waitFor()
}

const views: Record<string, View> = {
  'sign-in': { path: () => '/', isSignedOut: true, isUseful: isShown },
  home: { path: () => '/', isUseful: isShown },
  'an access request': { path: ({ waitingId }) => `/approve-proxy/${waitingId}`, isUseful: isShown },
  grants: { path: () => '/grants', isUseful: isShown },
  activity: { path: () => '/activity', isUseful: isShown },
  authenticator: { path: () => '/authenticator', isSignedOut: true, isUseful: isShown },
  'API reference': {
    path: () => '/docs',
    isUseful: (page) => page.getByText('Access requests', { exact: true }).first().waitFor(),
    limits: mostOfReference,
  },
}

interface Visit {
  scriptBytes: number
  ms: number
  shift: number
}

export async function pagesOnSlowLine({ scope, pace, say }: Bench): Promise<Row[]> {
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  const oauth = await startOAuthServer(scope)
  await oauth.setRedirectUris([`${baseUrl}/v4/oauth/callback/acme`])
  const service = await startService(scope, 'sqlite', {
    ...roomy,
    PORT: String(port),
    SALLYPORT_EGRESS_ALLOW: oauth.host,
    SALLYPORT_EGRESS_CA_FILE: oauth.caFile,
  })
  const lived = await liveIn({ baseUrl, adminToken: service.adminToken, oauth })
  const browser = await launchBrowser()
  scope.after(() => browser.close())
  const rows: Row[] = []
  for (const [name, view] of Object.entries(views)) {
    const visits: Visit[] = []
    for (let round = 0; round < pace.rounds; round++) visits.push(await visit(browser, baseUrl, view, lived))
    say(`${name}: ${visits.map(({ ms }) => Math.round(ms)).join(', ')} ms`)
    rows.push(rowOf(name, visits, view.limits ?? most))
  }
  return rows
}

async function visit(browser: Browser, baseUrl: string, view: View, lived: LivedIn): Promise<Visit> {
  const context = await browser.newContext()
  const session = { name: 'svc_session', value: lived.sessionToken, url: baseUrl }
  if (!view.isSignedOut) await context.addCookies([session])
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.emulateNetworkConditions', line)
  const scripts = new Set<string>()
  let scriptBytes = 0
  devtools.on('Network.responseReceived', ({ requestId, type }) => type === 'Script' && scripts.add(requestId))
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => {
    if (scripts.has(requestId)) scriptBytes += bytes
  })
  await page.addInitScript(`
    window.shift = 0
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value
    }).observe({ type: 'layout-shift', buffered: true })`)
  const from = performance.now()
  await page.goto(baseUrl + view.path(lived), { waitUntil: 'commit' })
  await view.isUseful(page)
  const ms = performance.now() - from
  // What arrives later must not move it either.
  await sleep(1_000)
  const shift = await page.evaluate<number>('window.shift')
  await context.close()
  return { scriptBytes, ms, shift }
}

function rowOf(name: string, visits: Visit[], limits: typeof most): Row {
  const [scriptBytes, ms, shift] = (['scriptBytes', 'ms', 'shift'] as const).map((figure) =>
    median(visits.map((one) => one[figure])),
  ) as [number, number, number]
  return {
    what: `${name}, 1.6 Mbit/s`,
    theirs: '',
    ours: `${Math.round(scriptBytes / 1000)} KB of scripts, shift ${shift.toFixed(3)}`,
    result: millis(ms),
    bar: `${limits.scriptBytes / 1000} KB, ${most.shift}, ${limits.ms} ms`,
    isMet: scriptBytes <= limits.scriptBytes && ms <= limits.ms && shift <= limits.shift,
  }
}
