/**
 * Whether a load balancer should send calls to this instance: the database can be written to, has a schema that this
 * version knows, and answers within a deadline.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { coalesce } from '../database/coalesce-query.ts'
import type { DiskSpace } from '../limits/disk-space.ts'
import { ServiceError } from '../errors.ts'

interface ReadinessNeeds {
  database: Pick<Database, 'probe' | 'oldestTransactionMs'>
  diskSpace: DiskSpace
  /** The number of the newest migration that this version knows. */
  newestMigration: number
}

export type Readiness = ReturnType<typeof createReadiness>

const deadlineMs = 3_000
/** Anyone may ask, and each probe is a commit: more frequent questions share one. */
const probeEveryMs = 100
/** Every statement has a much shorter limit: a transaction that is still open after this is stuck. */
const stuckMs = 120_000

export function createReadiness({ database, diskSpace, newestMigration }: ReadinessNeeds) {
  let isStopping = false
  let nextProbeAt = -Infinity
  const probe = coalesce(async () => {
    const pauseMs = nextProbeAt - performance.now()
    if (pauseMs > 0) await sleep(pauseMs)
    nextProbeAt = performance.now() + probeEveryMs
    const late = sleep(deadlineMs, undefined, { ref: false }).then(() => {
      throw notReady('The database does not respond in time.')
    })
    return Promise.race([database.probe(), late])
  })
  return {
    /** Rejects with `not_ready`. */
    assertReady: async (): Promise<void> => {
      if (isStopping) throw notReady('The service is stopping.')
      const required = await probe().catch((error: unknown) => {
        throw error instanceof ServiceError
          ? error
          : new ServiceError('not_ready', { cause: error, retryAfterSeconds: 1 })
      })
      if (required > newestMigration) {
        throw notReady('The database has the schema of a newer version. Upgrade this instance.')
      }
      if (diskSpace() === 'full') throw notReady('The disk is full.')
    },
    /** Throws if only a restart can help. */
    assertAlive: (): void => {
      if (database.oldestTransactionMs() > stuckMs) throw notReady('A transaction is stuck. Restart this instance.')
    },
    /** From now on not ready, so that load balancers use other instances while calls in flight end. */
    beginStop: (): void => {
      isStopping = true
    },
  }
}

function notReady(message: string): ServiceError {
  return new ServiceError('not_ready', { message })
}
