import { useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { WaitingCalls } from '../calls/waiting-calls.tsx'
import { useHeldCalls } from '../lists.ts'
import { service } from '../service.ts'
import { useMe } from '../session.ts'

/** Calls that wait for the user's decision. */
export function Calls() {
  const queries = useQueryClient()
  const { data: calls = [] } = useHeldCalls()
  const { data: user } = useMe()
  return (
    <WaitingCalls
      calls={calls}
      canApprove={user?.require_device_approval !== true}
      verbs={{ approve: 'Approve', deny: 'Deny' }}
      decide={async (chosen, verdict) => {
        try {
          return await service.calls.decide(chosen.map(({ call_id, digest }) => ({ call_id, digest, verdict })))
        } finally {
          await queries.invalidateQueries({ queryKey: ['calls'] })
        }
      }}
      linkTo={({ call_id: id }, children) => (
        <Link href={`/approve-call/${id}`} className="block rounded-lg px-2 py-1 hover:bg-raised">
          {children}
        </Link>
      )}
    />
  )
}
