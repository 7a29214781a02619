/** Shows its children to signed-in users, and the sign-in page to others. */
import { useEffect } from 'react'
import type { ReactNode } from 'react'
import { useLocation, useSearch } from 'wouter'
import type { User } from '@sallyport/sdk'
import { Loading } from '../../ui/loading.tsx'
import { Trouble } from '../../ui/trouble.tsx'
import { useMe } from '../session.ts'
import { Frame } from '../shell.tsx'
import { isConnectWaiting, waitingRequest } from './address.ts'
import { useArrival, useTellArrival } from './arrival.ts'
import { SignInLink } from './sign-in-link.tsx'
import { WaysToSignIn } from './ways-to-sign-in.tsx'

export function SignedIn({ children }: { children: (user: User) => ReactNode }) {
  const { loginToken } = useArrival()
  if (loginToken !== null) {
    return (
      <Frame>
        <SignInLink key={loginToken} token={loginToken} />
      </Frame>
    )
  }
  return <Gate>{children}</Gate>
}

function Gate({ children }: { children: (user: User) => ReactNode }) {
  const me = useMe()
  const [, navigate] = useLocation()
  const search = useSearch()
  const user = me.data
  const decide = waitingRequest(search)
  const isGoingOn = Boolean(user) && (isConnectWaiting(search) || decide !== undefined)
  useTellArrival({ isReady: user !== undefined && !isGoingOn, isSignedIn: Boolean(user) })
  useEffect(() => {
    if (!isGoingOn) return
    if (isConnectWaiting(search)) location.replace('/v4/oauth/resume')
    else if (decide) navigate(decide, { replace: true })
  }, [isGoingOn, search, decide, navigate])
  if (user && !isGoingOn) return children(user)
  return (
    <Frame>
      {user === null ? (
        <WaysToSignIn />
      ) : me.isError ? (
        <Trouble problem={me.error} again={() => me.refetch()} />
      ) : (
        <Loading shape="view" />
      )}
    </Frame>
  )
}
