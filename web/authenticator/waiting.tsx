/** Held calls and pending requests, updated live. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { AccessRequest, DeviceClient, PersonCall } from '@sallyport/sdk'
import { WaitingCalls } from '../console/calls/waiting-calls.tsx'
import { useWaitingCalls } from '../console/calls/use-calls.ts'
import { Loading } from '../ui/loading.tsx'
import { unstacked } from '../ui/others-text.ts'
import { isProblem } from '../ui/problem.ts'
import { Ago } from '../ui/time.tsx'
import { Empty, Theirs, View } from '../ui/view.tsx'
import { addressOf } from './address.tsx'
import type { KeptDevice } from './kept-device.ts'
import { OfferNotifications, isWorthOffering } from './offer-notifications.tsx'
import { ThisDevice } from './this-device.tsx'
import { Trouble } from './trouble.tsx'

interface WaitingProps {
  device: DeviceClient
  kept: KeptDevice
  onForgotten: () => unknown
}

export function Waiting({ device, kept, onForgotten }: WaitingProps) {
  useLiveRequests(device)
  const me = useQuery({ queryKey: ['me'], queryFn: ({ signal }) => device.me({ signal }) })
  const requests = useQuery({
    queryKey: ['requests'],
    queryFn: ({ signal }) => device.accessRequests.pending({ limit: 50 }, { signal }).page(),
    // Fallback if no events arrive.
    refetchInterval: 30_000,
  })
  const calls = useWaitingCalls(device.calls, 30_000)
  const [isDeclined, setIsDeclined] = useState(false)
  const offers = me.data?.device?.push === false && !isDeclined && isWorthOffering(kept)
  const trouble = requests.error ?? calls.error ?? me.error
  return (
    <View title="Waiting for you">
      {offers && (
        <OfferNotifications
          device={device}
          kept={kept}
          onDeclined={() => {
            setIsDeclined(true)
          }}
        />
      )}
      {trouble ? (
        <Trouble
          problem={trouble}
          again={() => Promise.all([requests.refetch(), calls.refetch(), me.refetch()])}
          onForgotten={onForgotten}
        />
      ) : requests.data && calls.data ? (
        <>
          <Calls device={device} calls={calls.data} canApprove={me.data?.device?.key?.enrolled !== false} />
          {(requests.data.access_requests.length > 0 || calls.data.length === 0) && (
            <Requests requests={requests.data.access_requests} />
          )}
        </>
      ) : (
        <Loading shape="cards" />
      )}
      {me.data?.device && !isProblem(trouble, 'unauthenticated') && (
        <ThisDevice
          device={device}
          kept={kept}
          me={me.data}
          record={me.data.device}
          isOffered={offers}
          onForgotten={onForgotten}
        />
      )}
    </View>
  )
}

function Calls({ device, calls, canApprove }: { device: DeviceClient; calls: PersonCall[]; canApprove: boolean }) {
  const queries = useQueryClient()
  return (
    <WaitingCalls
      calls={calls}
      canApprove={canApprove}
      verbs={{ approve: 'Sign and approve', deny: 'Sign and deny' }}
      decide={async (chosen, verdict) => {
        try {
          return await device.calls.decide(chosen, verdict)
        } finally {
          await queries.invalidateQueries({ queryKey: ['calls'] })
        }
      }}
      linkTo={({ call_id: id }, children) => (
        <a href={addressOf(id)} className="block rounded-lg px-2 py-1 hover:bg-raised">
          {children}
        </a>
      )}
    />
  )
}

function Requests({ requests }: { requests: AccessRequest[] }) {
  if (requests.length === 0) {
    return <Empty title="No pending requests">When an agent needs your decision, it appears here automatically.</Empty>
  }
  return (
    <ul className="space-y-3">
      {requests.map((request) => (
        <li key={request.access_request_id}>
          <a
            href={addressOf(request.access_request_id)}
            className="block rounded-xl border border-line bg-surface p-4 shadow-xs hover:bg-raised"
          >
            <span className="block">
              <Theirs>{request.agent.name}</Theirs> is requesting access to your account at{' '}
              <Theirs>{request.provider_name}</Theirs>
            </span>
            {request.reason && (
              <span dir="auto" className="mt-1 line-clamp-2 text-sm wrap-anywhere text-quiet">
                “{unstacked(request.reason)}”
              </span>
            )}
            <span className="mt-2 block text-sm text-quiet">
              Requested <Ago at={request.created_at} />
            </span>
          </a>
        </li>
      ))}
    </ul>
  )
}

/** Only while the page is visible. Otherwise there are push notifications. */
function useLiveRequests(device: DeviceClient): void {
  const queries = useQueryClient()
  useEffect(() => {
    const leaving = new AbortController()
    const follow = async () => {
      for await (const { event } of device.events({ signal: leaving.signal })) {
        // This device may have been removed.
        if (event === 'ended') void queries.invalidateQueries()
        if (event === 'changed' || event === 'ready') {
          for (const key of ['requests', 'calls']) void queries.invalidateQueries({ queryKey: [key] })
        }
      }
    }
    follow().catch(() => undefined)
    return () => {
      leaving.abort()
    }
  }, [device, queries])
}
