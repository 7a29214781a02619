/** The authenticator page: pairs this browser, or shows the requests to decide. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ReactNode } from 'react'
import { AwayBanner } from '../ui/away-banner.tsx'
import { Loaded } from '../ui/loading.tsx'
import { MessageLine } from '../ui/message.tsx'
import { Notice, View } from '../ui/view.tsx'
import { isCall, useOpenRequest } from './address.tsx'
import { DecideCall } from './decide-call.tsx'
import { Decide } from './decide.tsx'
import { readKept } from './kept-device.ts'
import type { KeptDevice } from './kept-device.ts'
import { Pair } from './pair.tsx'
import { serviceFor } from './service.ts'
import { Waiting } from './waiting.tsx'

export function Authenticator({ pairingCode }: { pairingCode: string }) {
  const queries = useQueryClient()
  const kept = useQuery({ queryKey: ['kept'], queryFn: async () => (await readKept()) ?? null, staleTime: Infinity })
  const look = () => queries.resetQueries()
  if (!isSecureContext) return <Insecure />
  return (
    <Frame>
      <Loaded query={kept}>
        {(device) =>
          device ? <Paired kept={device} onForgotten={look} /> : <Pair code={pairingCode} onPaired={look} />
        }
      </Loaded>
    </Frame>
  )
}

function Paired({ kept, onForgotten }: { kept: KeptDevice; onForgotten: () => unknown }) {
  const device = useMemo(() => serviceFor(kept), [kept])
  const id = useOpenRequest()
  if (id === undefined) return <Waiting device={device} kept={kept} onForgotten={onForgotten} />
  return isCall(id) ? (
    <DecideCall key={id} device={device} callId={id} onForgotten={onForgotten} />
  ) : (
    <Decide key={id} device={device} accessRequestId={id} onForgotten={onForgotten} />
  )
}

function Insecure() {
  return (
    <Frame>
      <View title="This page needs https">
        <Notice tone="bad">
          Browsers create keys only for pages loaded over https or from localhost. Open the authenticator at this
          service’s https address.
        </Notice>
      </View>
    </Frame>
  )
}

function Frame({ children }: { children: ReactNode }) {
  return (
    <div className="mx-auto max-w-xl px-4 pb-4 sm:pb-16">
      <header className="flex items-center gap-2.5 py-2 sm:py-5 font-semibold tracking-tight">
        <img src="/favicon.svg" alt="" width="26" height="26" />
        Sallyport Authenticator
      </header>
      <main className="space-y-4">
        <MessageLine />
        <AwayBanner />
        {children}
      </main>
    </div>
  )
}
