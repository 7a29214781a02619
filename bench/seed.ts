/** Fills a database like that of a service in use: through its stores, with encrypted tokens. */
import { randomBytes } from 'node:crypto'
import type { Connection } from '../server/src/connections/connection.ts'
import { defaultTerms } from '../server/src/grants/grant.ts'
import type { Grant } from '../server/src/grants/grant.ts'
import { readConfig } from '../server/src/config/config.ts'
import { migrate } from '../server/src/migrations/migrations.ts'
import { newId } from '../server/src/platform/ids.ts'
import { masterKeySource, openDatabase, prepareDataDirectory } from '../server/src/platform/operations/instance.ts'
import { Secret } from '../server/src/platform/secret.ts'
import { hashToken, mintToken } from '../server/src/platform/tokens.ts'
import { openVault } from '../server/src/platform/vault/vault.ts'
import { oauth2Method } from '../server/src/providers/auth-method.ts'
import { bearerInjection } from '../server/src/providers/provider.ts'
import type { Provider } from '../server/src/providers/provider.ts'
import { createStores } from '../server/src/stores.ts'

export interface Seed {
  agents: number
  grantsPerAgent: number
  auditRecords: number
  /** The provider's API host: `localhost:1234`. */
  host: string
  /** More API hosts. */
  otherHosts?: string[]
}

export interface SeededAgent {
  token: string
  grantId: string
}

type Stores = ReturnType<typeof createStores>
type Queries = Parameters<Stores['grants']['insert']>[0]

/** Agents per transaction: enough to be fast, few enough to show progress. */
const batch = 500

/** Returns each agent's token and one of its grants. */
export async function seed(
  env: NodeJS.ProcessEnv,
  { agents, grantsPerAgent, auditRecords, host, otherHosts = [] }: Seed,
  say: (progress: string) => void,
): Promise<SeededAgent[]> {
  const { database, stores, clock } = await openForSeeding(env)
  const provider = providerAt([host, ...otherHosts])
  await stores.providers.insert(database.queries, provider, new Secret(randomBytes(24).toString('base64url')))
  const seeded: SeededAgent[] = []
  while (seeded.length < agents) {
    await database.transaction(async (tx) => {
      const last = Math.min(agents, seeded.length + batch)
      const made: SeededAgent[] = []
      while (seeded.length + made.length < last) made.push(await insertAgent(stores, tx, provider, grantsPerAgent))
      seeded.push(...made)
    })
    say(`${seeded.length} of ${agents} agents`)
  }
  for (let done = 0; done < auditRecords; done += 1000) {
    await database.transaction(async (tx) => {
      for (let index = done; index < Math.min(auditRecords, done + 1000); index++) {
        const { grantId } = seeded[index % seeded.length] ?? { grantId: '' }
        const detail = { method: 'GET', host, path: '/small', query: [] }
        await stores.audit.append(tx, { event: 'proxy.attempt', at: clock(), requestId: 'req_seed', grantId, detail })
      }
    })
    if (done % 50_000 === 0) say(`${done} of ${auditRecords} records`)
  }
  await database.close()
  return seeded
}

export type Seeding = Awaited<ReturnType<typeof openForSeeding>>

/** The database of a service that has not started yet. */
export async function openForSeeding(env: NodeJS.ProcessEnv) {
  const config = readConfig(env)
  if (!config.databaseUrl.isSet) prepareDataDirectory(config)
  const keys = masterKeySource(config)
  // The first read creates the keys, which has to happen before the database exists.
  await keys.read()
  const database = openDatabase(config)
  const clock = () => new Date()
  await migrate(database, clock)
  const vault = await openVault({ database, readMasterKeys: keys.read, clock })
  return { database, vault, clock, stores: createStores({ database, vault, clock }) }
}

export function providerAt(apiHosts: string[]): Provider {
  const now = new Date()
  const issuer = 'https://login.acme.example'
  return {
    providerId: newId('prv', now),
    slug: 'acme',
    name: 'Acme',
    source: 'admin',
    preset: null,
    proposedBy: null,
    status: 'active',
    metadata: { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
    discoveryUrl: null,
    scopes: ['read'],
    apiHosts,
    clientId: 'bench',
    authMethods: [oauth2Method],
    authMethod: 'client_secret_basic',
    authorizationParams: {},
    injection: bearerInjection,
    allowRange: false,
    registrationError: null,
    createdAt: now,
    updatedAt: now,
  }
}

/** An agent, a user, the user's connection, and grants on it. */
async function insertAgent(stores: Stores, tx: Queries, provider: Provider, grants: number): Promise<SeededAgent> {
  const now = new Date()
  const { agent, token, tokenHash } = agentOf(now)
  const { agentId } = agent
  const userId = newId('usr', now)
  await stores.agents.insert(tx, agent, tokenHash)
  const user = { userId, handle: null, name: null, email: null, createdAt: now }
  await stores.users.insert(tx, { ...user, disabledAt: null, requiresDevice: false })
  const connection = connectionOf(userId, provider, now)
  await stores.connections.insert(tx, connection, {
    accessToken: new Secret(`gho_${randomBytes(27).toString('base64url')}`),
    refreshToken: new Secret(`ghr_${randomBytes(27).toString('base64url')}`),
    expiresAt: new Date(now.getTime() + 86_400_000),
    obtainedAt: now,
  })
  let grantId = ''
  for (let index = 0; index < grants; index++) {
    const grant = grantOn(connection, agentId, provider.apiHosts, now)
    await stores.grants.insert(tx, grant, null)
    grantId = grant.grantId
  }
  return { token, grantId }
}

export function agentOf(now: Date) {
  const token = mintToken('agent')
  const agent = { agentId: newId('agt', now), name: 'bench', ownerUserId: 'self-registered', metadata: {} }
  return { agent: { ...agent, createdAt: now, disabledAt: null }, token: token.reveal(), tokenHash: hashToken(token) }
}

export function connectionOf(userId: string, { providerId, scopes }: Provider, now: Date): Connection {
  return {
    connectionId: newId('con', now),
    userId,
    providerId,
    authMethod: oauth2Method.name,
    status: 'active',
    accountId: userId,
    accountLabel: null,
    apiHost: null,
    scopes,
    expiresAt: null,
    obtainedAt: now,
    isRefreshed: false,
    canRefresh: true,
    version: 1,
    refreshLeaseUntil: null,
    createdAt: now,
    lastUsedAt: null,
    revokedAt: null,
    remoteRevocation: null,
  }
}

export function grantOn(
  { connectionId, userId }: Pick<Connection, 'connectionId' | 'userId'>,
  agentId: string,
  allowedHosts: string[],
  now: Date,
): Grant {
  return {
    grantId: newId('grt', now),
    agentId,
    kind: 'connection',
    userId,
    connectionId,
    accessRequestId: null,
    allowedHosts,
    allowedMethods: ['GET', 'POST'],
    allowedPaths: null,
    maxCalls: null,
    calls: 0,
    lastUsedAt: null,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 7 * 86_400_000),
    revokedAt: null,
    revokedBy: null,
    isCutOff: false,
    isPaused: false,
    termsVersion: 1,
    ...defaultTerms,
  }
}
