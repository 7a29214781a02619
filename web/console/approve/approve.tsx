/**
 * The page where a user decides on an access request (spec v4, Rules 1). The agent's text is visually separate from
 * ours. The default choice is narrow, and a summary is shown before approval. The service checks everything again.
 */
import { useState } from 'react'
import type { AccessRequest, Grant, User } from '@sallyport/sdk'
import { Loading } from '../../ui/loading.tsx'
import { Trouble } from '../../ui/trouble.tsx'
import { useLive } from '../live.ts'
import { useMe } from '../session.ts'
import { Frame } from '../shell.tsx'
import { useArrival, useTellArrival } from '../sign-in/arrival.ts'
import { useIsNewAccount } from '../sign-in/new-account.ts'
import { Denied, Granted, NotFound, Settled, SignedOut } from './outcomes.tsx'
import { Pending } from './pending.tsx'
import { useAccounts, useLookingAgain, useRequest } from './use-request.ts'

export type Outcome = { grant: Grant } | { isBlocked: boolean }

export function Approve({ id }: { id: string }) {
  const me = useMe()
  useLookingAgain()
  return (
    <Frame>
      {me.data ? (
        <Question key={`${id} ${me.data.user_id}`} id={id} user={me.data} />
      ) : me.data === null ? (
        <SignedOut id={id}>
          An agent is requesting access. Sign in to see the request and decide. You’ll come back to this page.
        </SignedOut>
      ) : me.isError ? (
        <Trouble problem={me.error} again={() => me.refetch()} />
      ) : (
        <Loading shape="view" />
      )}
    </Frame>
  )
}

function Question({ id, user }: { id: string; user: User }) {
  useLive()
  const { connectionId } = useArrival()
  const [brought] = useState(connectionId)
  const isNew = useIsNewAccount(brought)
  const [outcome, setOutcome] = useState<Outcome>()
  // Keep showing the same request while the decision is being sent.
  const [answered, setAnswered] = useState<AccessRequest>()
  const query = useRequest(id)
  const request = answered ?? query.data
  const accounts = useAccounts(request)
  const isPending = request?.status === 'pending'
  const isThere =
    request !== undefined &&
    (!isPending || request.provider === null || (accounts.data !== undefined && isNew !== undefined))
  useTellArrival({ isReady: isThere, isSignedIn: true })
  if (outcome && 'grant' in outcome) return <Granted grant={outcome.grant} />
  if (outcome && request) return <Denied request={request} isBlocked={outcome.isBlocked} />
  if (isThere) {
    if (request === null) {
      return (
        <NotFound user={user} title="Request not found">
          This access request doesn’t exist, or it isn’t addressed to you.
        </NotFound>
      )
    }
    if (!isPending) return <Settled user={user} request={request} />
    return (
      <Pending
        user={user}
        request={request}
        accounts={accounts.data ?? []}
        preferred={isNew ? brought : null}
        onAnswering={setAnswered}
        onOutcome={setOutcome}
      />
    )
  }
  const failed = [query, accounts].find(({ isError }) => isError)
  return failed ? <Trouble problem={failed.error} again={() => failed.refetch()} /> : <Loading shape="view" />
}
