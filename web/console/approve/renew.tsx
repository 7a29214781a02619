/** Opens a request again that ended: a new one with the same terms, on its own page. */
import { useQueryClient } from '@tanstack/react-query'
import type { AccessRequest, Grant } from '@sallyport/sdk'
import { useLocation } from 'wouter'
import { Action } from '../../ui/action.tsx'
import { service } from '../service.ts'
import { useMe } from '../session.ts'
import { rulesOf } from './exceptions.ts'
import { keepChoices } from './kept-choices.ts'
import { firstChoices } from './terms.ts'

export function RenewRequest({ request }: { request: Pick<AccessRequest, 'access_request_id' | 'agent'> }) {
  const open = useOpenAgain()
  return (
    <Action
      label={`Open again: the request of ${request.agent.name}`}
      act={() => open(request.access_request_id, (renewed) => firstChoices(renewed, null))}
    >
      Open again
    </Action>
  )
}

/** The request of a grant that has ended. The choices start with what the grant allowed. */
export function Renew({ grant }: { grant: Grant }) {
  const open = useOpenAgain()
  const { access_request_id: id, connection_id: account, mode, exceptions, max_access: access } = grant
  if (id === null) return null
  return (
    <Action
      label={`Renew the access of ${grant.agent.name}`}
      act={() =>
        open(id, (renewed) => ({
          ...firstChoices(renewed, account),
          ...{ mode, exceptions: rulesOf(exceptions), permissions: access ?? 'asked' },
        }))
      }
    >
      Renew
    </Action>
  )
}

function useOpenAgain() {
  const queries = useQueryClient()
  const me = useMe()
  const [, go] = useLocation()
  return async (id: string, choicesOf: (renewed: AccessRequest) => ReturnType<typeof firstChoices>) => {
    const renewed = await service.accessRequests.renew(id)
    const { access_request_id: newId } = renewed
    if (me.data) keepChoices(`${me.data.user_id} ${newId}`, choicesOf(renewed))
    void queries.invalidateQueries({ queryKey: ['access-requests'] })
    go(`/approve-proxy/${newId}`)
  }
}
