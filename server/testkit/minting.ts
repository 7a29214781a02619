/** A service with a provider for which tokens are issued, at a server that verifies who asks. */
import type { TestContext } from 'node:test'
import type { Environment } from '../src/platform/config/settings.ts'
import type { Engine } from '../src/platform/database/database.ts'
import { startEntered } from './entered-credentials.ts'
import type { EnteredGrant, EnteredTest } from './entered-credentials.ts'
import { createGitHubAppServer } from './github-app-server.ts'
import type { GitHubAppServer } from './github-app-server.ts'
import { createGoogleTokenServer } from './google-token-server.ts'
import type { GoogleTokenServer } from './google-token-server.ts'
import type { TokenIssuer } from './token-issuer.ts'

export interface MintingTest<Server> extends EnteredTest {
  server: Server
  /** An agent with a grant on a new connection. */
  granted: () => Promise<EnteredGrant & { connectionId: string }>
  statusOf: (connectionId: string) => Promise<string>
}

/** What a server needs to be a provider. */
export const kinds = {
  github_app: {
    create: createGitHubAppServer,
    methods: (host: string) => [{ kind: 'github_app', api_url: `https://${host}/api/v3` }],
    provider: () => ({}),
  },
  google_service_account: {
    create: createGoogleTokenServer,
    methods: () => [{ kind: 'google_service_account' }],
    provider: (host: string) => ({ token_url: `https://${host}/token` }),
  },
}

type Scope = Pick<TestContext, 'after'>

export function startGitHubApp(
  t: Scope,
  engine: Engine,
  settings?: Environment,
): Promise<MintingTest<GitHubAppServer>> {
  return start(t, engine, kinds.github_app, settings)
}

export function startServiceAccount(
  t: Scope,
  engine: Engine,
  settings?: Environment,
): Promise<MintingTest<GoogleTokenServer>> {
  return start(t, engine, kinds.google_service_account, settings)
}

async function start<Server extends TokenIssuer & { credential: object }>(
  t: Scope,
  engine: Engine,
  kind: {
    create: (now: () => Date) => Server
    methods: (host: string) => object[]
    provider: (host: string) => object
  },
  settings: Environment = {},
): Promise<MintingTest<Server>> {
  const time = { now: () => new Date() }
  const server = kind.create(() => time.now())
  const { methods, provider } = kind
  const test = await startEntered(t, engine, {
    ...{ methods, provider, answer: server.answer },
    settings: { SALLYPORT_LOG_LEVEL: 'debug', SALLYPORT_PROXY_RATE_PER_AGENT: '0', ...settings },
  })
  time.now = test.clock.now
  return {
    ...test,
    server,
    granted: async () => {
      const { body, text } = await test.connect(server.credential)
      if (body.connection_id === undefined) throw new Error(text)
      return { ...(await test.grantOn(body.connection_id)), connectionId: body.connection_id }
    },
    statusOf: async (connectionId) => {
      const { body } = await test.call('GET', '/v4/connections', { token: test.user.token })
      const listed = body.connections as { connection_id: string; status: string }[]
      return listed.find(({ connection_id }) => connection_id === connectionId)?.status ?? ''
    },
  }
}
