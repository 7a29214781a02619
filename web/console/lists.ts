/** Lists that several views use. live.ts invalidates them by the first part of their key. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Connection } from '@sallyport/sdk'
import { useNow } from '../ui/time.tsx'
import { useWaitingCalls } from './calls/use-calls.ts'
import { service } from './service.ts'

/** Maximum records per request. */
const limit = 200

/** Expiry sends no event, so expired requests are filtered out here. */
export function useWaitingRequests() {
  const now = useNow()
  return useQuery({
    queryKey: ['access-requests', 'pending'],
    queryFn: ({ signal }) => service.accessRequests.pending({ limit }, { signal }).all(),
    select: (requests) => requests.filter(({ expires_at: end }) => Date.parse(end) > now),
  })
}

/** Calls that wait for the user's decision. */
export function useHeldCalls() {
  return useWaitingCalls(service.calls)
}

/** Without disconnected ones. */
export const connectedAccounts = queryOptions({
  queryKey: ['connections', 'connected'],
  queryFn: async ({ signal }): Promise<Connection[]> => {
    const lists = (['active', 'needs_reauth'] as const).map((status) =>
      service.connections.list({ limit, status }, { signal }).all(),
    )
    const all = (await Promise.all(lists)).flat()
    // One whose status changes meanwhile is in both lists.
    return [...new Map(all.map((account) => [account.connection_id, account])).values()]
  },
})

export function useConnections() {
  return useQuery(connectedAccounts)
}

export function useActiveGrants() {
  return useQuery({
    queryKey: ['grants', 'active'],
    queryFn: ({ signal }) => service.grants.list({ limit, status: 'active' }, { signal }).all(),
  })
}

/** Of any status. */
export function useNewestGrants() {
  return useQuery({
    queryKey: ['grants', 'newest'],
    queryFn: async ({ signal }) => (await service.grants.list({ limit }, { signal }).page()).grants,
  })
}

/** Also those muted for a day after a denial. */
export function useMutedAgents() {
  return useQuery({
    queryKey: ['muted-agents'],
    queryFn: ({ signal }) => service.mutedAgents.list({ limit }, { signal }).all(),
  })
}

export function useDevices() {
  return useQuery({
    queryKey: ['devices'],
    queryFn: ({ signal }) => service.devices.list({ limit, status: 'active' }, { signal }).all(),
  })
}

/** What is known about providers in advance. */
export function usePresets() {
  return useQuery({
    queryKey: ['providers', 'presets'],
    queryFn: ({ signal }) => service.providers.presets({}, { signal }).all(),
  })
}

export function useProviders() {
  return useQuery({
    queryKey: ['providers', 'active'],
    queryFn: ({ signal }) => service.providers.list({ limit }, { signal }).all(),
  })
}
