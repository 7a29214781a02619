/** Connects an account with a credential that a person enters: checked first, stored only if the provider accepts it. */
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { Egress } from '../platform/egress/egress.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { isFormMethod } from '../providers/auth-kinds/auth-kind.ts'
import type { FormMethod } from '../providers/auth-kinds/auth-kind.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { UserStore } from '../sessions/user-store.ts'
import type { Account } from './account.ts'
import { checkCredential } from './check-credential.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStore } from './connection-store.ts'
import { credentialText, hostOf, readCredential } from './credential.ts'

export interface ConnectWithCredentialNeeds {
  config: Pick<Config, 'connectsPerHour'>
  database: Database
  egress: Egress
  users: UserStore
  providers: ProviderStore
  connections: ConnectionStore
  audit: AuditWriter
  clock: Clock
}

export interface EnteredCredential {
  providerSlug: string
  /** Undefined: the only one that takes a credential. */
  authMethod: string | undefined
  values: Readonly<Record<string, string>>
  label: string | undefined
}

const checksPerHour = 10

export async function connectWithCredential(
  needs: ConnectWithCredentialNeeds,
  userId: string,
  entered: EnteredCredential,
  requestId: string,
): Promise<Connection> {
  const { database, users, providers, connections, audit, clock } = needs
  const provider = activeProvider(await providers.findBySlug(database.queries, entered.providerSlug))
  const method = chooseMethod(provider, entered.authMethod)
  const values = readCredential(method, entered.values)
  const apiHost = hostOf(method, values)
  const account = await checked(needs, userId, provider, method, values)
  const now = clock()
  const connection: Connection = {
    ...{ connectionId: newId('con', now), userId, providerId: provider.providerId, authMethod: method.name },
    ...{ status: 'active', accountId: account?.id ?? null, accountLabel: entered.label ?? account?.label ?? null },
    ...{ apiHost, scopes: [], expiresAt: null, obtainedAt: now, isRefreshed: false, canRefresh: false, version: 1 },
    ...{ refreshLeaseUntil: null, createdAt: now, lastUsedAt: null, revokedAt: null, remoteRevocation: null },
  }
  return database.transaction(async (tx) => {
    // Check both again: the provider took a while to answer.
    await assertUser(users, tx, userId)
    activeProvider(await providers.lock(database, tx, provider.providerId))
    const held = { expiresAt: null, obtainedAt: now, credential: credentialText(values) }
    if (!(await connections.insert(tx, connection, held))) {
      const message =
        'This account is connected already. Replace its credential with PUT /v4/connections/{id}/credential, or disconnect it.'
      throw new ServiceError('conflict', { field: 'credential', message })
    }
    const { connectionId } = connection
    const detail = { connection_id: connectionId, provider: provider.slug, auth_method: method.name }
    await audit.append(tx, { event: 'connection.created', at: now, requestId, userId, connectionId, detail })
    return connection
  })
}

export async function assertUser(users: UserStore, queries: Queries, userId: string): Promise<void> {
  const user = await users.find(queries, userId)
  if (user && !user.disabledAt) return
  throw new ServiceError('not_found', { field: 'user_id', message: 'There is no active user with this id.' })
}

export function activeProvider(provider: Provider | undefined): Provider {
  const field = 'provider_slug'
  if (!provider) throw new ServiceError('not_found', { field, message: 'No such provider.' })
  if (provider.status === 'active') return provider
  throw new ServiceError('conflict', {
    field,
    message: 'This provider is not active, so accounts cannot be connected.',
  })
}

function chooseMethod({ authMethods }: Provider, name: string | undefined): FormMethod {
  const forms = authMethods.filter(isFormMethod)
  const names = forms.map((one) => one.name).join(', ')
  const field = 'auth_method'
  if (forms.length === 0 || name === 'oauth2') {
    const message = 'Connect this account with POST /v4/oauth/connect/start or /v4/oauth/device/start.'
    throw new ServiceError('conflict', { field, message })
  }
  if (name === undefined && forms.length > 1) {
    throw new ServiceError('missing_field', { field, message: `Set "auth_method" to one of: ${names}.` })
  }
  const method = name === undefined ? forms[0] : forms.find((one) => one.name === name)
  if (method) return method
  throw new ServiceError('invalid_field', { field, message: `This provider has no such method. It has: ${names}.` })
}

/** The account, if the method can tell. Attempts count, whatever becomes of them. */
export async function checked(
  needs: Pick<ConnectWithCredentialNeeds, 'config' | 'database' | 'egress' | 'users' | 'clock'>,
  userId: string,
  provider: Provider,
  method: FormMethod,
  values: ReturnType<typeof readCredential>,
): Promise<Account | undefined> {
  const { config, database, users, clock } = needs
  const { check } = method
  await database.transaction(async (tx) => {
    await assertUser(users, tx, userId)
    await takeFromLimit(tx, `connect:${userId}`, perHour(config.connectsPerHour), clock())
    if (check) await takeFromLimit(tx, `credential-check:${userId}`, perHour(checksPerHour), clock())
  })
  return check ? checkCredential(needs, provider, { ...method, check }, values) : undefined
}
