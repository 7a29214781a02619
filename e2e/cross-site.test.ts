/** What a page of another site can't do to a visitor: sign in, sign out, or frame our page. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before } from 'node:test'
import type { FrameLocator, Page } from 'playwright-core'
import { base, inBrowser, issueLink, isUsable, sees, serve, showsWho, signIn } from './in-browser.ts'
import { eventually } from './running-service.ts'

serve()

const otherServer = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html')
  response.end('<!doctype html><title>Another site</title><link rel="icon" href="data:,"><h1>Another site</h1>')
})

before(async () => {
  otherServer.listen(0, '127.0.0.1')
  await once(otherServer, 'listening')
})

after(() => {
  otherServer.close()
  otherServer.closeAllConnections()
})

/** Another port of our own host counts as the same site, so the cookie goes along; 127.0.0.1 is another site. */
function otherOrigin(host: string): string {
  return `http://${host}:${(otherServer.address() as AddressInfo).port}`
}

async function cookies(page: Page): Promise<string[]> {
  return (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`)
}

/** Submits a form as a page of any site may. Returns the service's response. */
async function sendForm(page: Page, path: string, text: string): Promise<{ status: number; code: string }> {
  const answer = page.waitForResponse(base + path)
  await page.evaluate(`
    const form = document.createElement('form')
    form.method = 'post'
    form.enctype = 'text/plain'
    form.action = ${JSON.stringify(base + path)}
    const field = document.createElement('input')
    field.name = ${JSON.stringify(text)}
    form.append(field)
    document.body.append(form)
    form.submit()`)
  const response = await answer
  const { error } = (await response.json()) as { error: { code: string } }
  return { status: response.status(), code: error.code }
}

/** Fetches as a page of any site may. Returns the status, which the page itself cannot see. */
async function sendFetch(page: Page, path: string, init: object): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  const status = new Promise<number>((resolve) => {
    session.once('Network.responseReceivedExtraInfo', ({ statusCode }) => {
      resolve(statusCode)
    })
  })
  await page.evaluate(`void fetch(${JSON.stringify(base + path)}, ${JSON.stringify(init)}).catch(() => undefined)`)
  return status
}

async function addFrame(page: Page, url: string): Promise<FrameLocator> {
  await page.evaluate(`
    document.querySelector('iframe')?.remove()
    const frame = document.createElement('iframe')
    frame.src = ${JSON.stringify(url)}
    document.body.append(frame)`)
  return page.frameLocator('iframe')
}

const refused = [
  '401 /v4/auth/',
  '403 /v4/auth/',
  'Failed to load resource: net::ERR_BLOCKED_BY_RESPONSE',
  // Browsers request it when an API response is shown as a page.
  '404 /favicon.ico',
]
const crossOrigin = ['Access to fetch', 'Failed to load resource']
const framing = ['Framing']

for (const host of ['127.0.0.1', 'localhost']) {
  inBrowser(`a page at another origin (${host}) can't sign a visitor in`, refused, async (visit) => {
    const { login_token } = await issueLink('mallory@example.com')
    const body = JSON.stringify({ login_token })
    const page = await visit(otherOrigin(host))
    const simple = { method: 'POST', mode: 'no-cors', credentials: 'include', body }
    assert.equal(await sendFetch(page, '/v4/auth/login', simple), 403)
    assert.deepEqual(await sendForm(page, '/v4/auth/login', body), { status: 403, code: 'cross_site_request' })
    assert.deepEqual(await cookies(page), [])
    assert.ok(await isUsable(login_token))
  })

  inBrowser(`a page at another origin (${host}) can't send JSON or read a response`, crossOrigin, async (visit) => {
    const { login_token } = await issueLink('mallory@example.com')
    const page = await visit(otherOrigin(host))
    const init = {
      method: 'POST',
      credentials: 'include',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login_token }),
    }
    const tryFetch = `fetch(${JSON.stringify(`${base}/v4/auth/login`)}, ${JSON.stringify(init)})`
    assert.equal(await page.evaluate(`${tryFetch}.then(() => 'sent', (error) => error.name)`), 'TypeError')
    assert.deepEqual(await cookies(page), [])
    assert.ok(await isUsable(login_token))
  })

  inBrowser(`a page at another origin (${host}) can't sign a visitor out`, refused, async (visit) => {
    const ours = await signIn(visit, 'sofia@example.com')
    const before = await cookies(ours)
    const page = await ours.context().newPage()
    await page.goto(otherOrigin(host))
    const code = host === 'localhost' ? 'cross_site_request' : 'unauthenticated'
    assert.equal((await sendForm(page, '/v4/auth/logout-all', '{}')).code, code)
    assert.deepEqual(await cookies(ours), before)
    await ours.reload()
    await sees(ours, 'Home')
    await showsWho(ours, 'sofia')
  })

  inBrowser(`a page at another origin (${host}) can't frame our page`, framing, async (visit, complaints) => {
    const page = await visit(otherOrigin(host))
    await (await addFrame(page, otherOrigin(host))).getByText('Another site').waitFor()
    const frame = await addFrame(page, base)
    await eventually(() => Promise.resolve(complaints.length > 0), 'the browser does not say that it refused')
    assert.equal(await frame.locator('#page').count(), 0)
  })
}
