import { useMemo } from 'react'
import { useConnections, useProviders } from '../lists.ts'
import type { Names } from './describe-record.ts'

/** Names of the user's accounts and of providers, for records that contain only ids. */
export function useNames(): Names {
  const { data: connections } = useConnections()
  const { data: providers } = useProviders()
  return useMemo(() => {
    const accounts = new Map(
      connections?.map((one) => [one.connection_id, { provider: one.provider_name, label: one.account_label }]),
    )
    const named = [...(connections ?? []), ...(providers ?? [])]
    const names = new Map(
      named.map((one) => ['slug' in one ? one.slug : (one.provider ?? ''), one.provider_name] as const),
    )
    return { account: (id) => accounts.get(id), provider: (slug) => names.get(slug) }
  }, [connections, providers])
}
