/**
 * Acorn: an OAuth provider and a mail API on this machine. Pages for browsers are http on 127.0.0.1, another site than
 * the service's localhost, so that neither gets the other's cookies. Endpoints with credentials are https on
 * localhost, with a CA made for this run, and are not served over http.
 */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type Provider from 'oidc-provider'
import { createAuthority } from '../../server/testkit/certificates.ts'
import { accountOf, validToken } from '../../server/testkit/oauth-api.ts'
import { createProvider } from '../../server/testkit/oauth-provider.ts'
import { createOAuthStore } from '../../server/testkit/oauth-store.ts'
import type { OAuthStore } from '../../server/testkit/oauth-store.ts'
import { listenNear, stopListening } from '../ports.ts'
import { mailPath, mailScopes, serveMail } from './mail-api.ts'
import { createMailboxes } from './mailboxes.ts'
import type { Mailboxes } from './mailboxes.ts'
import { acornPages } from './pages.ts'
import { servePages } from './serve-pages.ts'

export interface Acorn {
  /** For browsers: `http://127.0.0.1:PORT`. */
  pages: string
  /** For the service: `https://localhost:PORT`, also the issuer. */
  origin: string
  caFile: string
  client: { clientId: string; clientSecret: string }
  /** All scopes. */
  scopes: string[]
  close: () => Promise<void>
}

const scopes = ['openid', 'offline_access', 'email', ...Object.keys(mailScopes)]

/** Short, so that a token is refreshed during the demo. */
const accessTokenSeconds = 300
export async function startAcorn(wish: {
  /** The CA's certificate is written here. */
  folder: string
  nearPort: number
  redirectUri: string
  /** Lets the agent check whether this is still the same run. */
  runId: string
}): Promise<Acorn> {
  const mailboxes = createMailboxes(new Date())
  const store = createOAuthStore()
  const authority = await createAuthority(wish.folder, 'Acorn, of the Sallyport demo')
  const [pageServer, apiServer] = [createServer(), createTlsServer(await authority.issue({ names: ['localhost'] }))]
  const pages = `http://127.0.0.1:${await listenNear(pageServer, wish.nearPort + 1)}`
  const origin = `https://localhost:${await listenNear(apiServer, wish.nearPort + 2)}`
  const shown = acornPages(mailboxes)
  const accounts = Object.fromEntries(
    [...mailboxes].map(([id, { name, email }]) => [id, { name, email, email_verified: true }]),
  )
  const provider = createProvider(origin, store, {
    apiScopes: Object.keys(mailScopes),
    pages: shown,
    accounts,
    accessTokenSeconds,
    alwaysAsksConsent: true,
    registration: false,
  })
  namePages(provider, pages)
  const oauth = provider.callback()
  pageServer.on('request', servePages({ provider, origin: pages, shown, mailboxes, runId: wish.runId }))
  apiServer.on('request', (request, response) => {
    if (request.url?.startsWith(`${mailPath}/`)) {
      serveApi(provider, mailboxes, request, response).catch(() => response.destroy())
    } else void oauth(request, response)
  })

  return {
    pages,
    origin,
    caFile: authority.caFile,
    scopes,
    client: await addClient(store, wish.redirectUri),
    close: async () => {
      await Promise.all([pageServer, apiServer].map(stopListening))
    },
  }
}

async function serveApi(provider: Provider, mailboxes: Mailboxes, request: IncomingMessage, response: ServerResponse) {
  const [, value = ''] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? []
  const token = await validToken(provider, value)
  const mailbox = mailboxes.get((token && accountOf(token)) ?? '')
  if (!token || !mailbox) {
    response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
    return
  }
  await serveMail({ mailbox, scopes: (token.scope ?? '').split(' ') }, request, response)
}

/**
 * The provider's responses have its https origin; URLs in them that a browser opens are replaced with those of the
 * pages.
 */
function namePages(provider: Provider, pages: string): void {
  const opened = ['authorization_endpoint', 'verification_uri', 'verification_uri_complete']
  provider.use(async (context, next) => {
    await next()
    const body: unknown = context.body
    if (typeof body !== 'object' || body === null) return
    const members = Object.entries(body).map(([name, value]: [string, unknown]) => {
      if (!opened.includes(name) || typeof value !== 'string') return [name, value]
      const { pathname, search } = new URL(value)
      return [name, pages + pathname + search]
    })
    // RFC 8628 §3.2: the provider sends no polling interval; the demo has no other clients, so it can be short.
    const often = 'device_code' in body && { interval: 1 }
    context.body = { ...Object.fromEntries(members), ...often } as object
  })
}

async function addClient(store: OAuthStore, redirectUri: string): Promise<Acorn['client']> {
  const client = { clientId: 'sallyport', clientSecret: randomBytes(24).toString('base64url') }
  await store.adapter('Client').upsert(client.clientId, {
    client_id: client.clientId,
    client_secret: client.clientSecret,
    client_name: 'Sallyport',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code'],
  })
  return client
}
