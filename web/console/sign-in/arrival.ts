/** Removes parameters from the URL before anything else, so that they are not in the browser history. */
import { useEffect, useSyncExternalStore } from 'react'
import { useSay } from '../../ui/message.tsx'
import { describeResult, readAddress } from './address.ts'
import type { Brought } from './address.ts'
import { useIsNewAccount } from './new-account.ts'

interface Arrival extends Brought {
  /** An expired or used login link was opened. */
  isLinkOver: boolean
  /** The request id of the refusal in the service's log. */
  requestId: string | undefined
}

let arrival = take()
const listeners = new Set<() => void>()

function take(): Arrival {
  const { brought, rest } = readAddress(location.href)
  if (location.hash || location.search !== new URL(rest, location.href).search) history.replaceState(null, '', rest)
  return { ...brought, isLinkOver: false, requestId: undefined }
}

function become(next: Arrival): void {
  arrival = next
  for (const tell of listeners) tell()
}

// Pasting a link into the address bar of this page only changes the fragment.
addEventListener('hashchange', () => {
  if (location.hash) become(take())
})

export function useArrival(): Arrival {
  return useSyncExternalStore(listen, () => arrival)
}

function listen(tell: () => void): () => void {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

export function offerLoginToken(loginToken: string): void {
  become({ ...arrival, loginToken, isLinkOver: false })
}

/** The token was used or declined. */
export function forgetLoginToken(): void {
  become({ ...arrival, loginToken: null, isLinkOver: false })
}

export function noteLinkOver(requestId: string | undefined): void {
  become({ ...arrival, loginToken: null, isLinkOver: true, requestId })
}

export const linkOver = 'This link no longer works'

/** Shows the result from the URL once, as soon as a view is shown. */
export function useTellArrival({ isReady, isSignedIn }: { isReady: boolean; isSignedIn: boolean }): void {
  const { say, complain } = useSay()
  const { error, connectionId, isLinkOver } = useArrival()
  const isNew = useIsNewAccount(connectionId, isSignedIn)
  useEffect(() => {
    if (!isReady) return
    if (error !== null) complain(describeResult(error))
    else if (connectionId !== null && isSignedIn) {
      if (isNew === undefined) return
      if (isNew) say('The account is connected.')
    }
    // A user who opens a login link a second time is often already signed in.
    else if (isLinkOver && isSignedIn) complain(`${linkOver}: it has been used or has expired.`)
    else return
    become({ ...arrival, error: null, connectionId: null, isLinkOver: false })
  }, [isReady, isSignedIn, error, connectionId, isNew, isLinkOver, say, complain])
}
