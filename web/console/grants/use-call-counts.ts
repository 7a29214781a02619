/** Calls per grant on each of the last days, by local days. */
import { useQuery } from '@tanstack/react-query'
import type { AuditSeries } from '@sallyport/sdk'
import { service } from '../service.ts'

export const shownDays = 14

export function useCallCounts() {
  return useQuery({
    // The `activity` key updates it live: every call changes it.
    queryKey: ['activity', 'calls-of-grants'],
    queryFn: async ({ signal }) => {
      const { series } = await service.audit.series(
        { by: 'grant', buckets: shownDays, ...lastDays(new Date()) },
        { signal },
      )
      return new Map(series.map((one) => [one.grant_id, totals(one)]))
    },
  })
}

function totals({ answered, failed, refused, unknown }: AuditSeries): number[] {
  return answered.map((count, at) => count + (failed[at] ?? 0) + (refused[at] ?? 0) + (unknown[at] ?? 0))
}

/** Whole days, ending with today. */
export function lastDays(now: Date): { since: string; until: string } {
  const midnight = (daysFromToday: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + daysFromToday).toISOString()
  return { since: midnight(1 - shownDays), until: midnight(1) }
}
