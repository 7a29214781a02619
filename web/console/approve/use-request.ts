/** Loads the access request and keeps it current. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { AccessRequest } from '@sallyport/sdk'
import { isProblem } from '../../ui/problem.ts'
import { connectedAccounts } from '../lists.ts'
import { service } from '../service.ts'

/** Null if it does not exist or is not for this user. */
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

/** The user's accounts at the provider, including those that need to sign in again. */
export function useAccounts(request: AccessRequest | null | undefined) {
  const provider = request?.status === 'pending' ? request.provider : null
  return useQuery({
    ...connectedAccounts,
    select: (accounts) => accounts.filter((account) => account.provider === provider),
    enabled: provider !== null,
  })
}

/** Refetches when the page becomes visible: the session or the request may have changed. */
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

/** Expiry sends no event, so this waits for it. */
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
      // A second later, to allow for clock differences. Capped at the longest delay of a timer.
      Math.min(Date.parse(end) - Date.now() + 1000, 2 ** 31 - 1),
    )
    return () => {
      clearTimeout(timer)
    }
  }, [queries, id, end])
}
