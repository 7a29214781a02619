/** What there is to decide, and whether it still is. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { AccessRequest, Connection } from '@sallyport/sdk'
import { isProblem } from '../../ui/problem.ts'
import { service } from '../service.ts'

/** null: there is none, or it is not for this person. */
export function useRequest(id: string) {
  const query = useQuery({
    queryKey: ['access-requests', id],
    queryFn: async ({ signal }): Promise<AccessRequest | null> => {
      if (!/^arq_[0-9a-z]+$/.test(id)) return null
      try {
        return await service.accessRequests.get(id, { signal })
      } catch (problem) {
        if (isProblem(problem, 'not_found')) return null
        throw problem
      }
    },
  })
  useEndOf(query.data)
  return query
}

/** The person's accounts at the provider, also those that it no longer accepts. */
export function useAccounts(request: AccessRequest | null | undefined) {
  const provider = request?.status === 'pending' ? request.provider : null
  return useQuery({
    queryKey: ['connections', 'at', provider],
    queryFn: async ({ signal }): Promise<Connection[]> => {
      const lists = (['active', 'needs_reauth'] as const).map((status) =>
        service.connections.list({ status, limit: 200 }, { signal }).all(),
      )
      return (await Promise.all(lists)).flat().filter((account) => account.provider === provider)
    },
    enabled: provider !== null,
  })
}

/** Meanwhile somebody may have signed in or out, or decided on a phone. */
export function useLookingAgain(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const look = () => {
      void queries.invalidateQueries()
    }
    addEventListener('focus', look)
    return () => {
      removeEventListener('focus', look)
    }
  }, [queries])
}

/** Nobody tells of an end that comes with time alone. */
function useEndOf(request: AccessRequest | null | undefined): void {
  const queries = useQueryClient()
  const id = request?.access_request_id
  const end = request?.status === 'pending' ? request.expires_at : undefined
  useEffect(() => {
    if (end === undefined) return
    const timer = setTimeout(
      () => {
        void queries.invalidateQueries({ queryKey: ['access-requests', id] })
      },
      // A moment later, for clocks that differ; and no browser waits longer than this.
      Math.min(Date.parse(end) - Date.now() + 1000, 2 ** 31 - 1),
    )
    return () => {
      clearTimeout(timer)
    }
  }, [queries, id, end])
}
