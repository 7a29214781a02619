import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { FreshTokenOf } from './fresh-token.ts'
import type { RefreshStore } from './refresh-store.ts'

const batchSize = 20

/** Repeats refreshes whose process died. Each connection then works again, or needs its user to sign in again. */
export async function settleRefreshes(
  { database, refreshes, clock }: { database: Database; refreshes: RefreshStore; clock: Clock },
  freshToken: FreshTokenOf,
): Promise<void> {
  const interrupted = await refreshes.listInterrupted(database.queries, clock(), batchSize)
  await Promise.allSettled(interrupted.map((connectionId) => freshToken(connectionId)))
}
