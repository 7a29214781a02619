/** Grants in each state that affects whether they are usable, and in each pair of those states. */
import { randomBytes } from 'node:crypto'
import type { Grant } from '../src/grants/grant.ts'
import type { GrantState } from '../src/grants/usable.ts'
import { newId } from '../src/platform/ids.ts'
import { hashToken, mintToken } from '../src/platform/tokens.ts'
import { oauth2Method } from '../src/providers/auth-method.ts'
import { bearerInjection } from '../src/providers/provider.ts'
import type { Provider } from '../src/providers/provider.ts'
import { createStores } from '../src/stores.ts'
import { insertConnection } from './calling.ts'
import { insertGrant } from './grants.ts'
import type { TestService } from './service.ts'

export interface GrantInState {
  /** The states, for messages. */
  name: string
  agentId: string
  /** The agent's token. */
  token: string
  tokenHash: Buffer
  grantId: string
  /** A newer grant of the same agent that has expired. */
  expiredId: string
  /** Null for the sandbox, like the connection. */
  userId: string | null
  connectionId: string | null
  /** The state that the usability rule takes as input. */
  state: GrantState
  isAgentDisabled: boolean
}

export type Stores = ReturnType<typeof createStores>

interface Condition {
  name: string
  needsConnection?: boolean
  apply: (one: GrantInState & { providerId: string }, stores: Stores, service: TestService) => Promise<unknown>
}

const conditions: Condition[] = [
  {
    name: 'agent disabled',
    apply: (one, { agents }, { database, clock }) => {
      one.state.isTokenCurrent = false
      one.isAgentDisabled = true
      return agents.disable(database.queries, one.agentId, clock.now())
    },
  },
  {
    name: 'token rotated',
    apply: (one, { agents }, { database }) => {
      one.state.isTokenCurrent = false
      return agents.replaceTokenHash(database.queries, one.agentId, one.tokenHash, randomBytes(32))
    },
  },
  {
    name: 'user disabled',
    needsConnection: true,
    apply: ({ state, userId }, { users }, { database, clock }) => {
      state.grant.isCutOff = true
      return users.disable(database.queries, userId ?? '', clock.now())
    },
  },
  {
    name: 'user paused agents',
    needsConnection: true,
    apply: ({ state, userId }, { pauses }, { database, clock }) => {
      state.grant.isPaused = true
      return pauses.insert(database.queries, userId, clock.now())
    },
  },
  {
    name: 'connection needs a new sign-in',
    needsConnection: true,
    apply: async ({ state, connectionId }, { connections, refreshes }, { database: { queries } }) => {
      const found = await connections.findWithAuthority(queries, connectionId ?? '')
      if (state.connection?.status === 'active') state.connection.status = 'needs_reauth'
      if (found) await refreshes.markNeedsReauth(queries, found.connection, undefined)
    },
  },
  {
    name: 'connection revoked',
    needsConnection: true,
    apply: ({ state, connectionId }, { revocations }, { database, clock }) => {
      state.grant.isCutOff = true
      if (state.connection) state.connection.status = 'revoked'
      return revocations.revoke(database.queries, connectionId ?? '', 'unsupported', clock.now())
    },
  },
  {
    name: 'access token expired',
    needsConnection: true,
    // An expired token does not affect the grant.
    apply: ({ connectionId }, _stores, { database: { queries }, clock }) =>
      queries
        .updateTable('connections')
        .set({ expires_at: clock.now().getTime() - 1 })
        .where('connection_id', '=', connectionId)
        .execute(),
  },
  {
    name: 'provider disabled',
    needsConnection: true,
    apply: ({ state, providerId }, { providers }, { database, clock }) => {
      if (state.provider) state.provider.status = 'disabled'
      return providers.disable(database.queries, providerId, clock.now())
    },
  },
  {
    name: 'provider deleted',
    needsConnection: true,
    apply: ({ state, providerId }, { providers }, { database, clock }) => {
      if (state.provider) state.provider.status = 'disabled'
      return providers.delete(database.queries, providerId, clock.now())
    },
  },
  {
    name: 'provider without credentials',
    needsConnection: true,
    apply: ({ state, providerId }, _stores, { database: { queries } }) => {
      if (state.provider) state.provider.status = 'pending_credentials'
      const update = queries.updateTable('providers').set({ status: 'pending_credentials' })
      return update.where('provider_id', '=', providerId).execute()
    },
  },
  { name: 'expired this moment', apply: (one, _stores, service) => expireAt(one, service, 0) },
  { name: 'expires in a moment', apply: (one, _stores, service) => expireAt(one, service, 1) },
  {
    name: 'revoked',
    apply: ({ state, grantId }, { grants }, { database, clock }) => {
      state.grant.revokedAt = clock.now()
      return database.transaction((tx) => grants.revoke(tx, grantId, 'user', clock.now()))
    },
  },
  { name: 'exhausted', apply: (one, _stores, service) => limit(one, service, 1) },
  { name: 'one call left', apply: (one, _stores, service) => limit(one, service, 2) },
]

function expireAt({ state: { grant }, grantId }: GrantInState, { database, clock }: TestService, ms: number) {
  grant.expiresAt = new Date(clock.now().getTime() + ms)
  const update = database.queries.updateTable('grants').set({ expires_at: grant.expiresAt.getTime() })
  return update.where('grant_id', '=', grantId).execute()
}

/** After one call. */
async function limit({ state: { grant }, grantId }: GrantInState, { database, clock }: TestService, maxCalls: number) {
  Object.assign(grant, { maxCalls, calls: 1 })
  const { queries } = database
  await queries.updateTable('grants').set({ max_calls: maxCalls }).where('grant_id', '=', grantId).execute()
  const usage = queries.updateTable('grant_usage').set({ calls: 1, last_used_at: clock.now().getTime() })
  await usage.where('grant_id', '=', grantId).execute()
}

/** On a connection and in the sandbox: as it was approved, in each state alone, and in each pair of states. */
export async function grantsInEveryState(service: TestService): Promise<GrantInState[]> {
  const stores = createStores({ ...service, clock: service.clock.now })
  const made: GrantInState[] = []
  for (const isSandbox of [false, true]) {
    const possible = conditions.filter(({ needsConnection = false }) => !(isSandbox && needsConnection))
    const pairs = possible.flatMap((first, index) => possible.slice(index + 1).map((second) => [first, second]))
    for (const chosen of [[], ...possible.map((one) => [one]), ...pairs]) {
      const one = await makeUsable(service, stores, { isSandbox })
      for (const { name, apply } of chosen) {
        await apply(one, stores, service)
        one.name += `, ${name}`
      }
      made.push(one)
    }
  }
  return made
}

/** With its own agent, user, provider and connection. */
export async function makeUsable(
  service: TestService,
  stores: Stores,
  { isSandbox = false, terms = {} }: { isSandbox?: boolean; terms?: Partial<Grant> } = {},
) {
  const { database, clock } = service
  const { queries } = database
  const now = clock.now()
  const token = mintToken('agent')
  const tokenHash = hashToken(token)
  const agentId = newId('agt', now)
  const agent = { agentId, name: 'an agent', ownerUserId: '', metadata: {}, createdAt: now, disabledAt: null }
  await stores.agents.insert(queries, agent, tokenHash)
  const providerId = newId('prv', now)
  let userId: string | null = null
  let connectionId: string | null = null
  if (!isSandbox) {
    userId = newId('usr', now)
    const names = { handle: null, name: null, email: null }
    await stores.users.insert(queries, { userId, ...names, createdAt: now, disabledAt: null, requiresDevice: false })
    await stores.providers.insert(queries, providerNamed(providerId, now), undefined)
    connectionId = await insertConnection(service, userId, providerId)
  }
  const kind = isSandbox ? ('sandbox' as const) : ('connection' as const)
  const parties = { agentId, userId, connectionId, kind }
  const grant = await insertGrant(service, { ...parties, ...terms })
  const later = new Date(now.getTime() + 1)
  const expired = await insertGrant(service, { ...parties, grantId: newId('grt', later), expiresAt: now })
  return {
    ...{ name: isSandbox ? 'sandbox' : 'connection', agentId, token: token.reveal(), tokenHash, userId, connectionId },
    ...{ grantId: grant.grantId, expiredId: expired.grantId, providerId, isAgentDisabled: false },
    state: {
      grant,
      connection: isSandbox ? null : { status: 'active' as const },
      provider: isSandbox ? null : { status: 'active' as const },
      isTokenCurrent: true,
    } as GrantState,
  }
}

function providerNamed(providerId: string, now: Date): Provider {
  return {
    ...{ providerId, slug: providerId.toLowerCase(), name: 'Acme', source: 'admin', preset: null, proposedBy: null },
    ...{ status: 'active', metadata: { issuer: 'https://acme.example' }, discoveryUrl: null, scopes: [] },
    ...{ apiHosts: ['api.example.com'], clientId: 'a client', authMethod: 'client_secret_basic' },
    authMethods: [oauth2Method],
    ...{ authorizationParams: {}, injection: bearerInjection, allowRange: false, registrationError: null },
    ...{ createdAt: now, updatedAt: now },
  }
}
