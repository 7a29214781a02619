/** One request: what the agent asks for, the chosen terms, and the signature. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AccessRequest, DeviceClient, Grant, Signed } from '@sallyport/sdk'
import { Loading } from '../ui/loading.tsx'
import { isProblem } from '../ui/problem.ts'
import { Moment } from '../ui/time.tsx'
import { View } from '../ui/view.tsx'
import { Asked } from '../console/approve/asked.tsx'
import { ToList } from './address.tsx'
import { Answered } from './answered.tsx'
import { DecideRequest } from './decide-request.tsx'
import { Trouble } from './trouble.tsx'

/** A decision made here, and what was signed. */
export interface Answer {
  grant?: Grant
  /** Undefined for a denial that needs no signature. */
  signed: Signed | undefined
}

interface DecideProps {
  device: DeviceClient
  accessRequestId: string
  onForgotten: () => unknown
}

export function Decide({ device, accessRequestId, onForgotten }: DecideProps) {
  const [answer, setAnswer] = useState<Answer>()
  const request = useQuery({
    queryKey: ['requests', accessRequestId],
    queryFn: ({ signal }) => device.accessRequests.get(accessRequestId, { signal }),
  })
  const accounts = useQuery({
    queryKey: ['connections'],
    queryFn: ({ signal }) => device.connections.list({ status: 'active' }, { signal }).all(),
  })
  const problem = request.error ?? accounts.error
  if (request.data && answer) return <Answered request={request.data} answer={answer} />
  if (isProblem(problem, 'not_found')) {
    return (
      <View title="Request not found" lead="It doesn’t exist, or it isn’t addressed to you.">
        <ToList />
      </View>
    )
  }
  if (problem) {
    return (
      <View title="An agent is requesting access">
        <Trouble
          problem={problem}
          again={() => Promise.all([request.refetch(), accounts.refetch()])}
          onForgotten={onForgotten}
        />
      </View>
    )
  }
  if (!request.data || !accounts.data) return <Loading shape="view" />
  if (request.data.status !== 'pending') return <Settled request={request.data} />
  const offered = accounts.data.filter(({ provider }) => provider !== null && provider === request.data.provider)
  return <DecideRequest device={device} request={request.data} accounts={offered} onAnswer={setAnswer} />
}

const outcomes = {
  approved: 'Already approved',
  denied: 'Already denied',
  expired: 'This request has expired',
  cancelled: 'Cancelled by the agent',
  pending: '',
}

function Settled({ request }: { request: AccessRequest }) {
  const { status, decided_at: decidedAt, expires_at: expiresAt } = request
  return (
    <View
      title={outcomes[status]}
      lead={
        <>
          There is nothing left to decide. Closed <Moment at={decidedAt ?? expiresAt} />.
        </>
      }
    >
      <Asked request={request} />
      <ToList />
    </View>
  )
}
