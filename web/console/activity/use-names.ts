import { useMemo } from 'react'
import { useConnections } from '../lists.ts'
import type { Names } from './describe-record.ts'

/** Names of the user's accounts, for records that contain only ids. */
export function useNames(): Names {
  const { data: connections } = useConnections()
  return useMemo(() => {
    const accounts = new Map(
      connections?.map((one) => [one.connection_id, { provider: one.provider_name, label: one.account_label }]),
    )
    return { account: (id) => accounts.get(id) }
  }, [connections])
}
