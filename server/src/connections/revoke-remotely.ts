/**
 * Asks providers to revoke the tokens of connections that ended here (RFC 7009). The job is stored in the transaction
 * that ends the connection, and any instance runs it when it is due, repeatedly until the provider has responded.
 */
import type { AuditWriter } from '../audit/audit-log.ts'
import { retryTime } from '../platform/backoff.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Log } from '../platform/operations/log.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'
import { clientOf } from '../providers/client-of.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStore } from './connection-store.ts'
import type { RevocationStore } from './revocation-store.ts'

export interface RevokeRemotelyNeeds {
  database: Database
  oauth: OAuth
  providers: ProviderStore
  connections: ConnectionStore
  revocations: RevocationStore
  audit: AuditWriter
  clock: Clock
  log: Log
}

/** Longer than two calls to the provider can take, so that no other instance begins in the meantime. */
const leaseMs = 60_000
const pause = { firstMs: 10_000, longestMs: 3_600_000 }
const givenUpAfterMs = 3 * 86_400_000
const batchSize = 20

/** Errors that are not about the token: an admin is changing the client's credentials, here or at the provider. */
const aboutClient = new Set(['invalid_client', 'unauthorized_client', 'unauthorized'])

export function createRevokeRemotely(needs: RevokeRemotelyNeeds) {
  const { database, revocations, clock, log } = needs

  const carryOut = async (connectionId: string): Promise<void> => {
    const now = clock()
    const claimed = await revocations.claim(database.queries, connectionId, now, new Date(now.getTime() + leaseMs))
    if (!claimed) return
    try {
      await askProvider(needs, claimed.connection)
      await conclude(needs, claimed.connection, 'done')
    } catch (error) {
      log.warn({ err: error, connection_id: connectionId }, 'the provider did not revoke the tokens')
      const isFinal =
        error instanceof OAuthAnswerInvalid || (error instanceof OAuthRefused && !aboutClient.has(error.code))
      const endedAt = claimed.connection.revokedAt ?? now
      const isTooLate = now.getTime() - endedAt.getTime() > givenUpAfterMs
      if (isFinal || isTooLate) await conclude(needs, claimed.connection, 'failed')
      else await revocations.postpone(database.queries, connectionId, retryTime(now, claimed.attempts, pause))
    }
  }

  return {
    /** Tries now. If that fails, it is retried later. */
    of: carryOut,

    /** Runs all that are due. */
    due: async (): Promise<void> => {
      const ids = await revocations.listDue(database.queries, clock(), batchSize)
      await Promise.all(ids.map(carryOut))
    },
  }
}

export type RevokeRemotely = ReturnType<typeof createRevokeRemotely>

/** Revokes the refresh token first, as it can get new access tokens. If one is refused, the other is still revoked. */
async function askProvider({ database, oauth, providers, connections }: RevokeRemotelyNeeds, connection: Connection) {
  const provider = await providers.find(database.queries, connection.providerId)
  if (!provider) throw new OAuthRefused('provider_deleted')
  const client = await clientOf(providers, database.queries, provider)
  const { accessToken, refreshToken } = await connections.tokens(database.queries, connection)
  let refusal: OAuthRefused | undefined
  const end = async (token: Secret | undefined, kind: 'access_token' | 'refresh_token') => {
    if (!token) return
    await oauth.revoke(client, token, kind).catch((error: unknown) => {
      if (!(error instanceof OAuthRefused)) throw error
      refusal ??= error
    })
  }
  await end(refreshToken, 'refresh_token')
  await end(accessToken, 'access_token')
  if (refusal) throw refusal
}

async function conclude(
  { database, revocations, audit, clock }: RevokeRemotelyNeeds,
  { connectionId, userId, version }: Connection,
  outcome: 'done' | 'failed',
): Promise<void> {
  await database.transaction(async (tx) => {
    // False if a late refresh has stored newer tokens, which still have to be revoked.
    if (!(await revocations.end(tx, connectionId, version, outcome))) return
    const detail = { connection_id: connectionId, outcome }
    await audit.append(tx, { event: 'connection.revoked_remotely', at: clock(), userId, connectionId, detail })
  })
}
