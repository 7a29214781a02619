import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import type { AuthMethod as ClientAuthMethod, Metadata } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import { matchesHost } from './api-hosts.ts'
import { oauth2Alone } from './auth-method.ts'
import type { AuthMethod } from './auth-method.ts'
import type { Credentials } from './client-credentials.ts'
import type {
  Injection,
  Provider,
  ProviderEdit,
  ProviderSource,
  ProviderStatus,
  RegistrationError,
} from './provider.ts'

interface ProviderRow {
  provider_id: string
  slug: string | null
  former_slug: string | null
  name: string
  source: ProviderSource
  preset: string | null
  proposed_by: string | null
  status: ProviderStatus
  metadata: string
  discovery_url: string | null
  scopes: string
  api_hosts: string
  client_id: string | null
  client_secret: Uint8Array | null
  client_secret_key_id: string | null
  auth_method: ClientAuthMethod
  auth_methods: string
  authorization_params: string
  injection: string
  allow_range: number
  registration_error: string | null
  created_at: number
  updated_at: number
  deleted_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    providers: ProviderRow
  }
}

export const providerClientSecret: SealedColumn = {
  table: 'providers',
  column: 'client_secret',
  rowColumn: 'provider_id',
  // A provider belongs to the installation, not to a user.
  ownerColumn: 'provider_id',
}

export interface ProviderName extends Pick<Provider, 'name' | 'source' | 'preset' | 'apiHosts'> {
  /** Null once the provider is deleted: another one may then use the slug. */
  slug: string | null
}

const endpointsMissing = 'endpoints_missing' satisfies RegistrationError

export function createProviderStore(vault: Vault) {
  const sealSecret = async (tx: Queries, providerId: string, secret: Secret | undefined) => {
    const place = { row: providerId, owner: providerId }
    const sealed = secret && (await vault.seal(tx, providerClientSecret, place, secret))
    return { client_secret: sealed?.bytes ?? null, client_secret_key_id: sealed?.keyId ?? null }
  }

  return {
    /** False if the slug is taken. */
    insert: async (tx: Queries, provider: Provider, clientSecret: Secret | undefined): Promise<boolean> => {
      const row = await tx
        .insertInto('providers')
        .values({
          provider_id: provider.providerId,
          slug: provider.slug,
          name: provider.name,
          source: provider.source,
          preset: provider.preset,
          proposed_by: provider.proposedBy,
          status: provider.status,
          metadata: JSON.stringify(provider.metadata),
          discovery_url: provider.discoveryUrl,
          scopes: JSON.stringify(provider.scopes),
          api_hosts: JSON.stringify(provider.apiHosts),
          client_id: provider.clientId,
          ...(await sealSecret(tx, provider.providerId, clientSecret)),
          auth_method: provider.authMethod,
          auth_methods: JSON.stringify(provider.authMethods),
          authorization_params: JSON.stringify(provider.authorizationParams),
          injection: JSON.stringify(provider.injection),
          allow_range: provider.allowRange ? 1 : 0,
          registration_error: provider.registrationError,
          created_at: provider.createdAt.getTime(),
          updated_at: provider.updatedAt.getTime(),
          deleted_at: null,
        })
        .onConflict((conflict) => conflict.column('slug').doNothing())
        .returning('provider_id')
        .executeTakeFirst()
      return row !== undefined
    },

    find: (queries: Queries, providerId: string) => findBy(queries, 'provider_id', providerId),
    /** Includes deleted providers: records that refer to them still show a name. */
    namesOf: async (queries: Queries, providerIds: readonly string[]): Promise<Map<string, ProviderName>> => {
      if (providerIds.length === 0) return new Map()
      const rows = await queries
        .selectFrom('providers')
        .select(['provider_id', 'slug', 'name', 'source', 'preset', 'api_hosts'])
        .where('provider_id', 'in', [...new Set(providerIds)])
        .execute()
      return new Map(
        rows.map(({ provider_id, api_hosts, ...name }) => [
          provider_id,
          { ...name, apiHosts: JSON.parse(api_hosts) as string[] },
        ]),
      )
    },
    findBySlug: (queries: Queries, slug: string) => findBy(queries, 'slug', slug),

    /** The active provider whose tokens may be sent to this host. Of several: a verified one, then the oldest. */
    findByHost: async (queries: Queries, host: string): Promise<Provider | undefined> => {
      const rows = await queries
        .selectFrom('providers')
        .selectAll()
        .where('deleted_at', 'is', null)
        .where('status', '=', 'active')
        .where((eb) => eb.or(entriesFor(host).map((entry) => eb('api_hosts', 'like', `%${entry}%`))))
        .orderBy((eb) => eb.case().when('source', '=', 'proposal').then(1).else(0).end())
        .orderBy('provider_id')
        .limit(50)
        .execute()
      return rows.map(toProvider).find(({ apiHosts }) => apiHosts.some((entry) => matchesHost(entry, host)))
    },

    /**
     * For a transaction that depends on the provider, which can't be disabled or deleted before it ends. A transaction
     * that changes the provider afterwards has to lock `for update`: two that hold shared locks would deadlock.
     */
    lock: async (
      { engine }: Database,
      tx: Queries,
      providerId: string,
      strength: 'for share' | 'for update' = 'for share',
    ): Promise<Provider | undefined> => {
      const row = await tx
        .selectFrom('providers')
        .selectAll()
        .where('provider_id', '=', providerId)
        .where('deleted_at', 'is', null)
        .$if(engine === 'postgres', (query) => (strength === 'for share' ? query.forShare() : query.forUpdate()))
        .executeTakeFirst()
      return row && toProvider(row)
    },

    clientSecret: async (queries: Queries, providerId: string): Promise<Secret | undefined> => {
      const row = await queries
        .selectFrom('providers')
        .select(['client_secret', 'client_secret_key_id'])
        .where('provider_id', '=', providerId)
        .executeTakeFirst()
      if (!row?.client_secret || row.client_secret_key_id === null) return undefined
      const place = { row: providerId, owner: providerId }
      const sealed = { bytes: row.client_secret, keyId: row.client_secret_key_id }
      return vault.open(queries, providerClientSecret, place, sealed)
    },

    /** Replaces the credentials. A provider in `pending_credentials` becomes active. */
    setCredentials: async (
      tx: Queries,
      providerId: string,
      { clientId, clientSecret, authMethod }: Credentials,
      now: Date,
    ): Promise<Provider | undefined> => {
      const row = await tx
        .updateTable('providers')
        .set((eb) => ({
          client_id: clientId,
          auth_method: authMethod,
          registration_error: null,
          updated_at: now.getTime(),
          status: eb
            .case()
            .when('status', '=', 'pending_credentials')
            .then('active' as const)
            .else(eb.ref('status'))
            .end(),
        }))
        .set(await sealSecret(tx, providerId, clientSecret))
        .where('provider_id', '=', providerId)
        .where('deleted_at', 'is', null)
        .returningAll()
        .executeTakeFirst()
      return row && toProvider(row)
    },

    /** The caller holds the row lock. */
    update: async (
      tx: Queries,
      { providerId, name, scopes, apiHosts, updatedAt }: Pick<Provider, ProviderEdit | 'providerId' | 'updatedAt'>,
    ): Promise<void> => {
      await tx
        .updateTable('providers')
        .set({
          name,
          scopes: JSON.stringify(scopes),
          api_hosts: JSON.stringify(apiHosts),
          updated_at: updatedAt.getTime(),
        })
        .where('provider_id', '=', providerId)
        .execute()
    },

    /** Undefined if there is no such provider, or it is disabled already. */
    disable: async (tx: Queries, providerId: string, now: Date): Promise<Provider | undefined> => {
      const row = await tx
        .updateTable('providers')
        .set({ status: 'disabled', updated_at: now.getTime() })
        .where('provider_id', '=', providerId)
        .where('deleted_at', 'is', null)
        .where('status', '<>', 'disabled')
        .returningAll()
        .executeTakeFirst()
      return row && toProvider(row)
    },

    /** Active, or pending if it needs a client and has none. Undefined if there is no such provider, or it is not disabled. */
    enable: async (tx: Queries, providerId: string, now: Date): Promise<Provider | undefined> => {
      const row = await tx
        .updateTable('providers')
        .set((eb) => ({
          status: eb
            .case()
            .when(eb.and([eb('client_id', 'is', null), eb('auth_methods', '=', oauth2Alone)]))
            .then('pending_credentials' as const)
            .else('active' as const)
            .end(),
          updated_at: now.getTime(),
        }))
        .where('provider_id', '=', providerId)
        .where('deleted_at', 'is', null)
        .where('status', '=', 'disabled')
        .returningAll()
        .executeTakeFirst()
      return row && toProvider(row)
    },

    setMetadata: async (
      tx: Queries,
      providerId: string,
      metadata: Metadata,
      now: Date,
    ): Promise<Provider | undefined> => {
      const row = await tx
        .updateTable('providers')
        .set({ metadata: JSON.stringify(metadata), updated_at: now.getTime() })
        .where('provider_id', '=', providerId)
        .where('deleted_at', 'is', null)
        .returningAll()
        .executeTakeFirst()
      return row && toProvider(row)
    },

    /** Sets the endpoints that a proposal lacked. The caller holds the row lock. */
    setEndpoints: async (
      tx: Queries,
      { providerId, metadata, discoveryUrl, apiHosts, registrationError, updatedAt }: Provider,
    ): Promise<void> => {
      await tx
        .updateTable('providers')
        .set({
          metadata: JSON.stringify(metadata),
          discovery_url: discoveryUrl,
          api_hosts: JSON.stringify(apiHosts),
          registration_error: registrationError,
          updated_at: updatedAt.getTime(),
        })
        .where('provider_id', '=', providerId)
        .execute()
    },

    /** The row stays for records that refer to it. Its secret is deleted, and its slug can be used again. */
    delete: async (tx: Queries, providerId: string, now: Date): Promise<Provider | undefined> => {
      const found = await findBy(tx, 'provider_id', providerId)
      const row =
        found &&
        (await tx
          .updateTable('providers')
          .set({
            slug: null,
            former_slug: found.slug,
            status: 'disabled',
            client_secret: null,
            client_secret_key_id: null,
            deleted_at: now.getTime(),
            updated_at: now.getTime(),
          })
          .where('provider_id', '=', providerId)
          .where('deleted_at', 'is', null)
          .returning('provider_id')
          .executeTakeFirst())
      return row && found
    },

    /** Deletes a proposal without endpoints that has this slug. No record refers to it. */
    dropIncomplete: async (tx: Queries, slug: string): Promise<string[]> => {
      const rows = await tx
        .deleteFrom('providers')
        .where('status', '=', 'pending_credentials')
        .where('registration_error', '=', endpointsMissing)
        .where('slug', '=', slug)
        .returning('provider_id')
        .execute()
      return rows.map(({ provider_id }) => provider_id)
    },

    dropIncompleteBefore: (tx: Queries, before: Date): Promise<number> => {
      const isIncomplete = sql`status = 'pending_credentials' and registration_error = ${endpointsMissing}`
      return deleteBatch(tx, 'providers', 'provider_id', sql`${isIncomplete} and created_at < ${before.getTime()}`)
    },

    countPending: async (queries: Queries): Promise<number> => {
      const { count } = await queries
        .selectFrom('providers')
        .select((eb) => eb.fn.countAll<number | string>().as('count'))
        .where('status', '=', 'pending_credentials')
        .where('deleted_at', 'is', null)
        .executeTakeFirstOrThrow()
      return Number(count)
    },

    list: async (queries: Queries, page: PageRequest<ProviderStatus>): Promise<Page<Provider>> => {
      const rows = await queries
        .selectFrom('providers')
        .selectAll()
        .where('deleted_at', 'is', null)
        .$if(page.status !== undefined, (query) => query.where('status', '=', page.status ?? 'active'))
        .$if(page.before !== undefined, (query) => query.where('provider_id', '<', page.before ?? ''))
        .orderBy('provider_id', 'desc')
        .limit(page.limit + 1)
        .execute()
      return pageOf(rows.map(toProvider), page.limit, ({ providerId }) => providerId)
    },
  }
}

export type ProviderStore = ReturnType<typeof createProviderStore>

/** As written in the column: the host, and wildcards for its parent domains. The caller drops other matches of LIKE. */
function entriesFor(host: string): string[] {
  const labels = host.split('.')
  const above = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  return [host, ...above.slice(-10)].map((entry) => JSON.stringify(entry).replaceAll(/[%_\\]/g, '_'))
}

async function findBy(queries: Queries, column: 'provider_id' | 'slug', value: string): Promise<Provider | undefined> {
  const row = await queries
    .selectFrom('providers')
    .selectAll()
    .where(column, '=', value)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row && toProvider(row)
}

function toProvider(row: ProviderRow): Provider {
  if (row.slug === null) throw new Error('a deleted provider was read')
  return {
    providerId: row.provider_id,
    slug: row.slug,
    name: row.name,
    source: row.source,
    preset: row.preset,
    proposedBy: row.proposed_by,
    status: row.status,
    metadata: JSON.parse(row.metadata) as Metadata,
    discoveryUrl: row.discovery_url,
    scopes: JSON.parse(row.scopes) as string[],
    apiHosts: JSON.parse(row.api_hosts) as string[],
    clientId: row.client_id,
    authMethods: JSON.parse(row.auth_methods) as AuthMethod[],
    authMethod: row.auth_method,
    authorizationParams: JSON.parse(row.authorization_params) as Record<string, string>,
    injection: JSON.parse(row.injection) as Injection,
    allowRange: row.allow_range === 1,
    registrationError: row.registration_error,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}
