/** Connects an account with a credential that a person enters: checked first, stored only if the provider accepts it. */
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { Egress } from '../platform/egress/egress.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { assertListed } from '../providers/api-hosts.ts'
import { authKindOf, isFormMethod, mintingOf } from '../providers/auth-kinds/auth-kind.ts'
import type { FormMethod } from '../providers/auth-kinds/auth-kind.ts'
import type { Minted, Minting, MintSource } from '../providers/auth-kinds/minting.ts'
import { addOffered, offeredProvider } from '../providers/offered-preset.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { UsedPresetStore } from '../providers/used-preset-store.ts'
import type { UserStore } from '../sessions/user-store.ts'
import { isUnavailable } from '../platform/oauth/failures.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import type { Account } from './account.ts'
import { checkCredential } from './check-credential.ts'
import { areKeepable, keptFrom } from './connection.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStore } from './connection-store.ts'
import { credentialText, hostOf, readCredential } from './credential.ts'
import type { FormerTokenStore } from './former-token-store.ts'

export interface ConnectWithCredentialNeeds {
  config: Pick<Config, 'connectsPerHour' | 'userPresets'>
  database: Database
  egress: Egress
  oauth: OAuth
  users: UserStore
  providers: ProviderStore
  usedPresets: UsedPresetStore
  connections: ConnectionStore
  formerTokens: FormerTokenStore
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
  const { database, users, providers, connections, formerTokens, audit, clock } = needs
  const existing = await providers.findBySlug(database.queries, entered.providerSlug)
  const provider = activeProvider(
    existing ?? (await offeredProvider(needs, database.queries, entered.providerSlug, clock())),
  )
  const method = chooseMethod(provider, entered.authMethod)
  const values = readCredential(method, entered.values)
  const apiHost = hostOf(method, values)
  const { account, tokens } = await checked(needs, userId, provider, method, values)
  const now = clock()
  const kept = tokens && keptFrom(tokens, now)
  const connection: Omit<Connection, 'providerId'> = {
    ...{ connectionId: newId('con', now), userId, authMethod: method.name },
    ...{ status: 'active', accountId: account?.id ?? null, accountLabel: entered.label ?? account?.label ?? apiHost },
    ...{
      apiHost,
      scopes: tokens?.scopes ?? (tokens ? provider.scopes : []),
      expiresAt: kept?.expiresAt ?? null,
      obtainedAt: now,
    },
    ...{ isRefreshed: false, canRefresh: kept !== undefined, version: 1 },
    ...{ refreshLeaseUntil: null, createdAt: now, lastUsedAt: null, revokedAt: null, remoteRevocation: null },
  }
  return database.transaction(async (tx) => {
    // Check both again: the provider took a while to answer.
    await assertUser(users, tx, userId)
    const { providerId } = existing
      ? activeProvider(await providers.lock(database, tx, existing.providerId))
      : await addOffered(needs, tx, provider, { userId, requestId })
    const connected: Connection = { ...connection, providerId }
    const held = { expiresAt: null, obtainedAt: now, ...kept, credential: credentialText(values) }
    if (!(await connections.insert(tx, connected, held))) {
      const message =
        'This account is connected already. Replace its credential with PUT /v4/connections/{id}/credential, or disconnect it.'
      throw new ServiceError('conflict', { field: 'credential', message })
    }
    if (kept) await formerTokens.insertAssertion(tx, connected, kept)
    const { connectionId } = connection
    const detail = { connection_id: connectionId, provider: provider.slug, auth_method: method.name }
    await audit.append(tx, { event: 'connection.created', at: now, requestId, userId, connectionId, detail })
    return connected
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

/** What the provider says about a credential. */
export interface Checked {
  /** If the method can tell. */
  account: Account | undefined
  /** If it is one for which tokens are issued. */
  tokens: Minted | undefined
}

type CheckedNeeds = Pick<ConnectWithCredentialNeeds, 'config' | 'database' | 'egress' | 'oauth' | 'users' | 'clock'>

/** Attempts count, whatever becomes of them. */
export async function checked(
  needs: CheckedNeeds,
  userId: string,
  provider: Provider,
  method: FormMethod,
  values: ReturnType<typeof readCredential>,
): Promise<Checked> {
  const { config, database, users, clock } = needs
  const { check } = method
  const tenant = hostOf(method, values)
  if (tenant !== null) assertListed(provider, tenant)
  const { identify } = authKindOf(method.kind)
  const minting = mintingOf(method, values)
  const source = { provider, method, values }
  await database.transaction(async (tx) => {
    await assertUser(users, tx, userId)
    await takeFromLimit(tx, `connect:${userId}`, perHour(config.connectsPerHour), clock())
    if (check || minting || identify)
      await takeFromLimit(tx, `credential-check:${userId}`, perHour(checksPerHour), clock())
  })
  if (minting) return answered(() => firstToken(needs, minting, source))
  if (identify) return answered(async () => ({ account: await identify(needs, source), tokens: undefined }))
  const account = check ? await checkCredential(needs, provider, { ...method, check }, values) : undefined
  return { account, tokens: undefined }
}

async function firstToken(needs: CheckedNeeds, minting: Minting, source: MintSource): Promise<Checked> {
  const tokens = await minting.mint(needs, source)
  if (!areKeepable(tokens)) throw unavailable('weak_token')
  return { tokens, account: await minting.account(needs, source, tokens) }
}

function answered(ask: () => Promise<Checked>): Promise<Checked> {
  return ask().catch((error: unknown) => {
    if (error instanceof OAuthRefused) {
      const extra = { upstream_status: error.status ?? 400 }
      throw new ServiceError('credential_refused', { field: 'credential', extra })
    }
    if (error instanceof OAuthAnswerInvalid) throw unavailable(error.message)
    if (isUnavailable(error)) {
      const { code, message: detail } = error
      throw code === 'address_not_allowed'
        ? new ServiceError(code, { field: 'credential', detail })
        : unavailable(detail)
    }
    throw error
  })
}

function unavailable(detail: string): ServiceError {
  return new ServiceError('provider_unavailable', { field: 'credential', detail })
}
