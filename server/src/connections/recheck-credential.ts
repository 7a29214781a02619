import { ServiceError } from '../platform/errors.ts'
import { isFormMethod, mintingOf } from '../providers/auth-kinds/auth-kind.ts'
import type { Connection } from './connection.ts'
import { activeProvider, checked } from './connect-with-credential.ts'
import type { ConnectWithCredentialNeeds } from './connect-with-credential.ts'
import type { CredentialStore } from './credential-store.ts'
import type { FreshTokenOf } from './fresh-token.ts'
import type { RefreshStore } from './refresh-store.ts'

export interface RecheckNeeds extends ConnectWithCredentialNeeds {
  credentials: CredentialStore
  refreshes: RefreshStore
  freshToken: FreshTokenOf
}

/** Asks the provider again. A credential that it refuses, or that is another account's by now, needs to be replaced. */
export async function recheckCredential(needs: RecheckNeeds, connection: Connection, requestId: string): Promise<void> {
  const { database, providers, credentials, refreshes, audit, clock } = needs
  const { connectionId, userId } = connection
  if (connection.status !== 'active') return
  const provider = activeProvider(await providers.find(database.queries, connection.providerId))
  const method = provider.authMethods.find(({ name }) => name === connection.authMethod)
  const stored = await credentials.valuesOf(database.queries, connection)
  if (!method || !isFormMethod(method) || !stored) return
  if (mintingOf(method, stored.values)) {
    await needs.freshToken(connectionId)
    return
  }
  const reason = await checked(needs, userId, provider, method, stored.values).then(
    ({ account }) => (account && account.id !== connection.accountId ? 'another_account' : undefined),
    (error: unknown) => {
      if (error instanceof ServiceError && error.code === 'credential_refused') return error.code
      throw error
    },
  )
  if (reason === undefined) return
  await database.transaction(async (tx) => {
    if (!(await refreshes.markNeedsReauth(tx, connection, undefined))) return
    const detail = { connection_id: connectionId, reason }
    await audit.append(tx, { event: 'connection.needs_reauth', at: clock(), requestId, userId, connectionId, detail })
  })
}
