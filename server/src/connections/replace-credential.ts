/**
 * Replaces what a connection holds. Its grants were given for an account, so they stay only if the provider says that
 * the new credential belongs to the same one.
 */
import { ServiceError } from '../platform/errors.ts'
import type { Queries } from '../platform/database/database.ts'
import { isFormMethod } from '../providers/auth-kinds/auth-kind.ts'
import { keptFrom } from './connection.ts'
import type { Connection } from './connection.ts'
import { activeProvider, assertUser, checked } from './connect-with-credential.ts'
import type { ConnectWithCredentialNeeds } from './connect-with-credential.ts'
import { hostOf, readCredential, secretsIn } from './credential.ts'
import type { CredentialStore } from './credential-store.ts'

export interface ReplaceCredentialNeeds extends ConnectWithCredentialNeeds {
  credentials: CredentialStore
  /** Ends all grants of a connection. Returns how many. */
  endGrants: (tx: Queries, connectionId: string, at: Date, requestId: string) => Promise<number>
}

export async function replaceCredential(
  needs: ReplaceCredentialNeeds,
  userId: string,
  connectionId: string,
  given: Readonly<Record<string, string>>,
  requestId: string,
): Promise<Connection> {
  const { database, users, providers, connections, credentials, formerTokens, audit, clock } = needs
  const found = await connections.findOfUser(database.queries, userId, connectionId)
  if (!found || found.status === 'revoked') throw new ServiceError('not_found')
  const provider = activeProvider(await providers.find(database.queries, found.providerId))
  const method = provider.authMethods.find(({ name }) => name === found.authMethod)
  if (!method || !isFormMethod(method)) {
    const message = 'This account was connected by OAuth. Reconnect it with POST /v4/oauth/connect/start.'
    throw new ServiceError('conflict', { message })
  }
  const values = readCredential(method, given)
  const apiHost = hostOf(method, values)
  const { account, tokens } = await checked(needs, userId, provider, method, values)
  const isSame = found.accountId !== null && account?.id === found.accountId
  // It names an account, and another one.
  if (account && !isSame) throw anotherAccount()
  if (apiHost !== found.apiHost) throw anotherAccount()
  return database.transaction(async (tx) => {
    await assertUser(users, tx, userId)
    activeProvider(await providers.lock(database, tx, provider.providerId))
    const now = clock()
    const former = await credentials.valuesOf(tx, found)
    const { accessToken } = await connections.tokens(tx, found)
    const kept = tokens && keptFrom(tokens, now)
    const known = {
      ...found,
      accountLabel: account?.label ?? found.accountLabel,
      scopes: tokens?.scopes ?? found.scopes,
    }
    const replaced = await credentials.replace(tx, found, values, known, now, kept)
    if (!replaced) {
      const message = 'The connection was changed in the meantime. Read it again, then repeat your change.'
      throw new ServiceError('conflict', { message })
    }
    const secrets = [accessToken, ...(former ? secretsIn(method, former.values) : [])]
    for (const one of secrets) if (one) await formerTokens.insert(tx, found, one, now)
    if (kept) await formerTokens.insertAssertion(tx, found, kept)
    const ended = isSame ? 0 : await needs.endGrants(tx, connectionId, now, requestId)
    const detail = {
      connection_id: connectionId,
      provider: provider.slug,
      auth_method: method.name,
      grants_ended: ended,
    }
    await audit.append(tx, { event: 'connection.renewed', at: now, requestId, userId, connectionId, detail })
    return replaced
  })
}

function anotherAccount(): ServiceError {
  const message = 'This credential belongs to another account. Connect that account with POST /v4/connections instead.'
  return new ServiceError('conflict', { field: 'credential', message })
}
