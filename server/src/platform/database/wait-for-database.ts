/** Waits for a database server that can't be reached yet. Other errors, such as a wrong password, are thrown. */
import { setTimeout as sleep } from 'node:timers/promises'
import { retryTime } from '../backoff.ts'
import { systemClock } from '../clock.ts'
import type { Log } from '../operations/log.ts'
import { isUnavailable } from './failures.ts'

const usualPause = { firstMs: 500, longestMs: 15_000 }

/** Retries with backoff until `work` succeeds or fails for another reason. */
export async function waitForDatabase<T>(work: () => Promise<T>, log: Log, pause = usualPause): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      const now = systemClock()
      const pauseMs = Math.round(retryTime(now, attempts, pause).getTime() - now.getTime())
      log.warn({ reason: reasonOf(error), attempts, pause_ms: pauseMs }, 'waiting for the database')
      await sleep(pauseMs)
    }
  }
}

/** The error for a name with several addresses has no message of its own. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return message || (code ?? 'no reason given')
}
