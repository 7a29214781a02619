/**
 * One held call, and the signature. What is signed is computed here from the call as it is shown: if the service names
 * another digest, nothing can be signed.
 */
import { callDigest, decidedCallText } from '@sallyport/protocol/call-digest'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeviceClient, PersonCall, Signed } from '@sallyport/sdk'
import { CallOutcome } from '../console/calls/call-outcome.tsx'
import { HeldCall } from '../console/calls/held-call.tsx'
import type { RepeatSeconds } from '../console/calls/held-call.tsx'
import { useCall } from '../console/calls/use-calls.ts'
import { CodeBox } from '../ui/code-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { Notice, View } from '../ui/view.tsx'
import { ToList } from './address.tsx'
import { WhatWasSigned } from './answered.tsx'
import { Trouble } from './trouble.tsx'

interface DecideCallProps {
  device: DeviceClient
  callId: string
  onForgotten: () => unknown
}

export function DecideCall({ device, callId, onForgotten }: DecideCallProps) {
  const queries = useQueryClient()
  const query = useCall(device.calls, callId)
  // Keep showing the same call while the decision is being sent.
  const [deciding, setDeciding] = useState<PersonCall>()
  const [signed, setSigned] = useState<Signed>()
  const call = deciding ?? query.data
  const isTrue = useIsTrue(call)
  if (query.error) {
    return (
      <View title="An agent wants to make a call">
        <Trouble problem={query.error} again={() => query.refetch()} onForgotten={onForgotten} />
      </View>
    )
  }
  if (call === null) {
    return (
      <View title="Call not found" lead="It doesn’t exist, or it isn’t for your account.">
        <ToList />
      </View>
    )
  }
  if (call === undefined || isTrue === undefined) return <Loading shape="view" />
  if (!isTrue) return <Untrue />
  if (call.status !== 'waiting') {
    return (
      <CallOutcome call={call}>
        <ToList />
        {signed && <WhatWasSigned signed={signed} />}
      </CallOutcome>
    )
  }

  const decide = async (send: () => Promise<PersonCall>) => {
    setDeciding(call)
    try {
      queries.setQueryData(['calls', callId], await send())
    } finally {
      // Also after a refusal: it may have been decided elsewhere.
      await queries.invalidateQueries({ queryKey: ['calls'] })
      setDeciding(undefined)
    }
  }
  return (
    <HeldCall
      call={call}
      verbs={{ approve: 'Sign and approve', deny: 'Sign and deny' }}
      onApprove={(repeat) => decide(() => device.calls.approve(call, repeating(repeat), { onSigned: setSigned }))}
      onDeny={(reason) =>
        decide(() => device.calls.deny(call, reason === undefined ? {} : { reason }, { onSigned: setSigned }))
      }
    >
      {(repeat) => (
        <details className="text-sm">
          <summary className="min-h-10 py-2 font-medium text-accent">What this device will sign</summary>
          <p className="mb-2 text-quiet">
            Your decision on exactly this call. The body is named by its hash, and was shown to you by the service.
          </p>
          <CodeBox label="What this device will sign" text={decidedCallText(call.description, repeat ?? null)} />
        </details>
      )}
    </HeldCall>
  )
}

function repeating(repeat: RepeatSeconds | undefined) {
  return repeat === undefined ? {} : { repeat_for_seconds: repeat }
}

/** Whether the service's digest is that of the call as it is shown. Undefined while computing. */
function useIsTrue(call: PersonCall | null | undefined): boolean | undefined {
  const { data } = useQuery({
    queryKey: ['digest', call],
    queryFn: async () => (await callDigest(call?.description ?? {}).catch(() => undefined)) === call?.digest,
    enabled: Boolean(call),
    networkMode: 'always',
    staleTime: Infinity,
    gcTime: 0,
  })
  return data
}

function Untrue() {
  return (
    <View title="This call can’t be signed">
      <Notice tone="bad">
        What the service shows is not what it asks you to sign. Don’t approve this call anywhere, and tell whoever runs
        the service.
      </Notice>
      <ToList />
    </View>
  )
}
