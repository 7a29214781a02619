/**
 * A real authorization server for tests, on loopback behind TLS: oidc-provider with usable pages, and a
 * front that counts calls and injects faults.
 */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { sharedAuthority } from './certificates.ts'
import type { Authority } from './certificates.ts'
import { serveApi, validToken } from './oauth-api.ts'
import { startFront } from './oauth-front.ts'
import type { Front } from './oauth-front.ts'
import { serveInteraction } from './oauth-pages.ts'
import { walk } from './oauth-person.ts'
import { createProvider } from './oauth-provider.ts'
import type { ProviderOptions } from './oauth-provider.ts'
import { createOAuthStore } from './oauth-store.ts'
import type { OAuthStore } from './oauth-store.ts'

export interface OAuthServer extends Pick<Front, 'host' | 'calls' | 'secrets' | 'fault' | 'fetch' | 'close'> {
  /** `https://localhost:PORT`, the origin of all its endpoints. */
  issuer: string
  /** The CA of its certificate; all servers of a process share it. */
  caFile: string
  authority: Authority
  /** A confidential client (`client_secret_basic`) that may use every flow. */
  client: Client
  setRedirectUris: (redirectUris: string[]) => Promise<void>
  /** A client that gets tokens for itself (RFC 6749 §4.4). */
  addMachineClient: () => Promise<Client>
  /** From now on it has another secret. */
  changeSecret: (client: Client) => Promise<Client>
  /**
   * Plays the user in the browser: opens the URL, signs in, and allows or denies. Returns the URL that the browser was
   * redirected to, without opening it.
   */
  approve: (authorizationUrl: string | URL, person?: { account?: string }) => Promise<string>
  deny: (authorizationUrl: string | URL, person?: { account?: string }) => Promise<string>
  /** The same at the page where a device code is entered. */
  approveDevice: (userCode: string, person?: { account?: string }) => Promise<void>
  denyDevice: (userCode: string) => Promise<void>
  /** Revokes all grants of an account, as a user does in a provider's settings. */
  endGrants: (account: string) => Promise<void>
  /** Whether the provider still accepts this access token. */
  accepts: (accessToken: string) => Promise<boolean>
}

interface Client {
  clientId: string
  clientSecret: string
}

export interface OAuthServerOptions extends ProviderOptions {
  redirectUris?: string[]
  port?: number
}

export const oauthPaths = {
  discovery: '/.well-known/openid-configuration',
  authorization: '/auth',
  token: '/token',
  revocation: '/token/revocation',
  registration: '/reg',
  deviceAuthorization: '/device/auth',
  device: '/device',
  userinfo: '/me',
  jwks: '/jwks',
}

export async function startOAuthServer(
  t: Pick<TestContext, 'after'>,
  options: OAuthServerOptions = {},
): Promise<OAuthServer> {
  const authority = await sharedAuthority()
  const store = createOAuthStore()
  const { promise: running, resolve: runs } = Promise.withResolvers<Awaited<ReturnType<typeof createProvider>>>()
  const front = await startFront(t, authority, options.port ?? 0, async (origin) => {
    const provider = createProvider(origin, store, options)
    const oauth = provider.callback()
    runs(provider)
    return (request, response) => {
      const url = request.url ?? ''
      const fail = (error: unknown) => response.writeHead(400).end(String(error))
      if (url.startsWith('/interaction/')) serveInteraction(provider, request, response).catch(fail)
      else if (url.startsWith('/api/')) serveApi(provider, request, response).catch(fail)
      else void oauth(request, response)
    }
  })
  const provider = await running

  const clients = createClients(store, options, front.secrets)
  const client = await clients.add()

  return {
    ...front,
    issuer: front.origin,
    caFile: authority.caFile,
    authority,
    client,
    setRedirectUris: (redirectUris) => clients.save(client, { redirect_uris: redirectUris }),
    addMachineClient: () => clients.add(machine),
    changeSecret: async ({ clientId }) => {
      const changed = { clientId, clientSecret: randomBytes(24).toString('base64url') }
      await clients.save(changed, machine)
      return changed
    },
    approve: (url, { account } = {}) => atConsent(front, url, true, account),
    deny: (url, { account } = {}) => atConsent(front, url, false, account),
    approveDevice: (userCode, { account } = {}) => atDevicePage(front, userCode, true, account),
    denyDevice: (userCode) => atDevicePage(front, userCode, false),
    endGrants: async (account) => {
      store.endGrants(account)
    },
    accepts: async (accessToken) => (await validToken(provider, accessToken)) !== undefined,
  }
}

const machine = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [], scope: 'read write' }

/** Clients are in the provider's store, like dynamically registered ones, and can be changed there. */
function createClients(store: OAuthStore, options: OAuthServerOptions, secrets: Set<string>) {
  const { redirectUris = ['https://client.example/callback'], deviceFlow = true } = options
  const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
  const save = async ({ clientId, clientSecret }: Client, metadata: Record<string, unknown>) => {
    const row = {
      client_id: clientId,
      client_secret: clientSecret,
      client_name: 'Sallyport in a test',
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'client_secret_basic' as const,
      grant_types: ['authorization_code', 'refresh_token', ...(deviceFlow ? [deviceGrant] : [])],
      response_types: ['code' as const],
      ...metadata,
    }
    await store.adapter('Client').upsert(clientId, row)
    secrets.add(clientSecret)
  }
  const add = async (metadata: Record<string, unknown> = {}): Promise<Client> => {
    const clientId = `client-${randomBytes(6).toString('hex')}`
    const client = { clientId, clientSecret: randomBytes(24).toString('base64url') }
    await save(client, metadata)
    return client
  }
  return { save, add }
}

async function atConsent(front: Front, url: string | URL, allows: boolean, account = 'ada'): Promise<string> {
  const end = await walk(front.fetch, String(url), { account, allows })
  if (end.sentTo === undefined) throw new Error(`the browser was not sent back, but shown: ${end.title}`)
  return end.sentTo
}

async function atDevicePage(front: Front, userCode: string, allows: boolean, account = 'ada'): Promise<void> {
  const { title } = await walk(front.fetch, `${front.origin}${oauthPaths.device}`, { account, allows, userCode })
  const wanted = allows ? 'Device connected' : 'Device refused'
  if (title !== wanted) throw new Error(`the device page ended with: ${title}`)
}
