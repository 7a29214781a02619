/**
 * The pages of Acorn that browsers open over http: consent, device codes, mailboxes. No endpoints for OAuth clients.
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type Provider from 'oidc-provider'
import { serveInteraction } from '../../server/testkit/oauth-pages.ts'
import type { OAuthPages } from '../../server/testkit/oauth-pages.ts'
import type { Mailboxes } from './mailboxes.ts'
import { mailPage } from './pages.ts'

interface Needs {
  provider: Provider
  /** The origin of these pages. */
  origin: string
  shown: OAuthPages
  mailboxes: Mailboxes
  runId: string
}

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
const asset = (name: string, type: string) => ({ type, text: readFileSync(join(import.meta.dirname, name), 'utf8') })
const assets = new Map([
  ['/acorn.css', asset('acorn.css', 'text/css; charset=utf-8')],
  ['/acorn.svg', asset('acorn.svg', 'image/svg+xml')],
])

export function servePages(needs: Needs): RequestListener {
  const oauth = needs.provider.callback()
  return (request, response) => {
    response.setHeader('content-security-policy', policy)
    response.setHeader('referrer-policy', 'no-referrer')
    serve(needs, oauth, request, response).catch(() => {
      html(response, 400, needs.shown.failed('This sign-in has expired', 'go back and start again.'))
    })
  }
}

async function serve(
  { provider, origin, shown, mailboxes, runId }: Needs,
  oauth: ReturnType<Provider['callback']>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '').split('?')[0] ?? ''
  const found = assets.get(path)
  // With another host name this could be a DNS rebinding attack by another site.
  if (request.headers.host !== new URL(origin).host) html(response, 421, shown.failed('This is elsewhere', origin))
  else if (found) response.writeHead(200, { 'content-type': found.type }).end(found.text)
  else if (path === '/') html(response, 200, mailPage(mailboxes))
  else if (path === '/run') response.end(runId)
  else if (path.startsWith('/interaction/')) await serveInteraction(provider, request, response, shown)
  else if (isForBrowsers(path)) await oauth(request, response)
  else html(response, 404, shown.failed('There is nothing here', `the mailboxes are at ${origin}/`))
}

/** Consent and device codes, with the targets of their forms. `/device/auth` is for OAuth clients, over https. */
function isForBrowsers(path: string): boolean {
  return /^\/(?:auth|device)(?:\/[\w-]{20,})?$/.test(path)
}

function html(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(text)
}
