/** The page where a user decides on a held call. What it shows comes from the call; the agent's words stand apart. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { PersonCall, User } from '@sallyport/sdk'
import { Link, useParams } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Trouble } from '../../ui/trouble.tsx'
import { NotFound, SignedOut } from '../approve/outcomes.tsx'
import { useLookingAgain } from '../approve/use-request.ts'
import { useLive } from '../live.ts'
import { service } from '../service.ts'
import { nameOf, useMe } from '../session.ts'
import { Frame } from '../shell.tsx'
import { useTellArrival } from '../sign-in/arrival.ts'
import { CallOutcome } from './call-outcome.tsx'
import { HeldCall } from './held-call.tsx'
import type { RepeatSeconds } from './held-call.tsx'
import { useCall } from './use-calls.ts'

export function ApproveCall() {
  const { id } = useParams<{ id: string }>()
  const me = useMe()
  useLookingAgain()
  return (
    <Frame>
      {me.data ? (
        <Call key={`${id} ${me.data.user_id}`} id={id} user={me.data} />
      ) : me.data === null ? (
        <SignedOut id={id}>
          An agent is waiting for your decision on a call. Sign in to see it and decide. You’ll come back to this page.
        </SignedOut>
      ) : me.isError ? (
        <Trouble problem={me.error} again={() => me.refetch()} />
      ) : (
        <Loading shape="view" />
      )}
    </Frame>
  )
}

function Call({ id, user }: { id: string; user: User }) {
  useLive()
  const queries = useQueryClient()
  const query = useCall(service.calls, id)
  // Keep showing the same call while the decision is being sent.
  const [deciding, setDeciding] = useState<PersonCall>()
  const call = deciding ?? query.data
  useTellArrival({ isReady: call !== undefined, isSignedIn: true })
  if (call === null) {
    return (
      <NotFound user={user} title="Call not found">
        This call doesn’t exist, or it isn’t for your account.
      </NotFound>
    )
  }
  if (!call)
    return query.isError ? <Trouble problem={query.error} again={() => query.refetch()} /> : <Loading shape="view" />

  const decide = async (send: () => Promise<PersonCall>) => {
    setDeciding(call)
    try {
      queries.setQueryData(['calls', id], await send())
    } finally {
      // Also after a refusal: it may have been decided elsewhere.
      await queries.invalidateQueries({ queryKey: ['calls'] })
      setDeciding(undefined)
    }
  }
  if (call.status !== 'waiting') {
    return (
      <CallOutcome call={call}>
        <div className="flex flex-wrap gap-2">
          <Link href="/" className={buttonLook('plain')}>
            Back to Home
          </Link>
          <Link href="/grants" className={buttonLook('bare')}>
            View grants
          </Link>
        </div>
      </CallOutcome>
    )
  }
  return (
    <HeldCall
      call={call}
      lead={
        <>
          You’re signed in as <bdi className="font-medium text-ink">{nameOf(user)}</bdi>. The agent waits for your
          decision.
        </>
      }
      whyNot={
        user.require_device_approval
          ? 'You approve on your devices only: open this call there. You can still deny it here.'
          : undefined
      }
      verbs={{ approve: 'Approve', deny: 'Deny' }}
      onApprove={(repeat) => decide(() => service.calls.approve(id, approval(call, repeat)))}
      onDeny={(reason) => decide(() => service.calls.deny(id, reason === undefined ? {} : { reason }))}
    />
  )
}

/** Names what was shown, so that nothing else is approved. */
function approval({ digest }: PersonCall, repeat: RepeatSeconds | undefined) {
  return { digest, ...(repeat !== undefined && { repeat_for_seconds: repeat }) }
}
