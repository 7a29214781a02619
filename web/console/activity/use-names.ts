import { useMemo } from 'react'
import { useActiveGrants, useConnections, useWaitingRequests } from '../lists.ts'
import type { Names } from './describe-record.ts'

/** The names of those with whom one has to do now, for records that hold ids alone. */
export function useNames(): Names {
  const { data: grants } = useActiveGrants()
  const { data: requests } = useWaitingRequests()
  const { data: connections } = useConnections()
  return useMemo(() => {
    const agents = new Map([...(grants ?? []), ...(requests ?? [])].map(({ agent }) => [agent.agent_id, agent.name]))
    const accounts = new Map(
      connections?.map((one) => [one.connection_id, { provider: one.provider_name, label: one.account_label }]),
    )
    return { agent: (id) => agents.get(id), account: (id) => accounts.get(id) }
  }, [grants, requests, connections])
}
