import { useMemo } from 'react'
import { useConnections } from '../lists.ts'
import type { Names } from './describe-record.ts'

/** The names of one's accounts, for records that hold their ids alone. */
export function useNames(): Names {
  const { data: connections } = useConnections()
  return useMemo(() => {
    const accounts = new Map(
      connections?.map((one) => [one.connection_id, { provider: one.provider_name, label: one.account_label }]),
    )
    return { account: (id) => accounts.get(id) }
  }, [connections])
}
