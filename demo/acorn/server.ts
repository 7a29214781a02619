/**
 * Acorn: an OAuth provider and a mail API on this machine. What a browser opens is http on 127.0.0.1, another site than
 * the service's localhost, so that neither sees the other's cookies. What takes or gives credentials is https on
 * localhost, under an authority that was made for this run, and is not served over http.
 */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type Provider from 'oidc-provider'
import { createAuthority } from '../../server/testkit/certificates.ts'
import { validToken } from '../../server/testkit/oauth-api.ts'
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
  /** What a browser opens: `http://127.0.0.1:PORT`. */
  pages: string
  /** What the service calls: `https://localhost:PORT`, the issuer too. */
  origin: string
  caFile: string
  client: { clientId: string; clientSecret: string }
  /** All that a client can ask for. */
  scopes: string[]
  close: () => Promise<void>
}

const scopes = ['openid', 'offline_access', 'email', ...Object.keys(mailScopes)]

/** Short, so that a token is renewed while somebody watches. */
const accessTokenSeconds = 300
export async function startAcorn(wish: {
  /** Gets the certificate of the authority. */
  folder: string
  nearPort: number
  redirectUri: string
  /** Said to whoever asks whether this is still the same run. */
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
  const mailbox = mailboxes.get(token?.accountId ?? '')
  if (!token || !mailbox) {
    response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
    return
  }
  await serveMail({ mailbox, scopes: (token.scope ?? '').split(' ') }, request, response)
}

/** The provider answers for its https origin; the addresses among its answers that a browser opens are the pages'. */
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
    // RFC 8628 §3.2: how long to wait between two looks. It is not said otherwise, and nobody else is asking here.
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
