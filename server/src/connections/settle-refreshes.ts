import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { FreshTokenOf } from './fresh-token.ts'
import type { RefreshStore } from './refresh-store.ts'

const atOnce = 20

/** Finds out what became of refreshes whose process died: each connection then works again, or needs its user. */
export async function settleRefreshes(
  { database, refreshes, clock }: { database: Database; refreshes: RefreshStore; clock: Clock },
  freshToken: FreshTokenOf,
): Promise<void> {
  const interrupted = await refreshes.listInterrupted(database.queries, clock(), atOnce)
  await Promise.allSettled(interrupted.map((connectionId) => freshToken(connectionId)))
}
