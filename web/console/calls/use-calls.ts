/** Held calls, kept current. The console and the authenticator load them with different clients. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { DeviceClient, PersonCall, UserClient } from '@sallyport/sdk'
import { isProblem } from '../../ui/problem.ts'
import { useNow } from '../../ui/time.tsx'
import { isUnderWay } from './describe-held-call.ts'

type Calls = Pick<UserClient['calls'], 'list' | 'get'> & Pick<DeviceClient['calls'], 'list' | 'get'>

/** Expiry sends no event, so expired calls are filtered out here. */
export function useWaitingCalls(calls: Calls, refetchInterval: number | false = false) {
  const now = useNow()
  return useQuery({
    queryKey: ['calls', 'waiting'],
    queryFn: ({ signal }) => calls.list({ status: 'waiting', limit: 200 }, { signal }).all(),
    select: (waiting) => waiting.filter(({ expires_at: end }) => Date.parse(end) > now),
    refetchInterval,
  })
}

/** Null if it does not exist or is not for this user. */
export function useCall(calls: Calls, id: string) {
  const query = useQuery({
    queryKey: ['calls', id],
    queryFn: async ({ signal }): Promise<PersonCall | null> => {
      if (!/^cal_[0-9a-z]+$/.test(id)) return null
      try {
        return await calls.get(id, { signal })
      } catch (problem) {
        if (isProblem(problem, 'not_found')) return null
        throw problem
      }
    },
    // Events tell of changes. This is for a page that gets none.
    refetchInterval: ({ state: { data } }) => (data && isUnderWay(data) ? 1000 : data?.status === 'waiting' && 15_000),
  })
  useExpiry(query.data)
  return query
}

/** Looks again when it expires. */
function useExpiry(call: PersonCall | null | undefined): void {
  const queries = useQueryClient()
  const id = call?.call_id
  const end = call?.status === 'waiting' ? call.expires_at : undefined
  useEffect(() => {
    if (end === undefined) return
    const timer = setTimeout(
      () => {
        void queries.invalidateQueries({ queryKey: ['calls', id] })
      },
      // A second later, to allow for clock differences. Capped at the longest delay of a timer.
      Math.min(Date.parse(end) - Date.now() + 1000, 2 ** 31 - 1),
    )
    return () => {
      clearTimeout(timer)
    }
  }, [queries, id, end])
}
