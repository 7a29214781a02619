/** What the address brought is taken out of it before anything else happens: from then on it is in no history. */
import { useEffect, useSyncExternalStore } from 'react'
import { useSay } from '../../ui/message.tsx'
import { describeResult, readAddress } from './address.ts'
import type { Brought } from './address.ts'
import { useIsNewAccount } from './new-account.ts'

interface Arrival extends Brought {
  /** A link that signs in no more was opened. */
  isLinkOver: boolean
  /** By which the service's log knows how it was refused. */
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

// A link pasted into the address bar of this very page changes the fragment alone.
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

/** It was used, or is not wanted. */
export function forgetLoginToken(): void {
  become({ ...arrival, loginToken: null, isLinkOver: false })
}

export function noteLinkOver(requestId: string | undefined): void {
  become({ ...arrival, loginToken: null, isLinkOver: true, requestId })
}

export const linkOver = 'This link no longer works'

/** Says once what the address told, when there is a view to say it in. */
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
    // Whoever opens a link for the second time is often signed in already.
    else if (isLinkOver && isSignedIn) complain(`${linkOver}: it has been used or has expired.`)
    else return
    become({ ...arrival, error: null, connectionId: null, isLinkOver: false })
  }, [isReady, isSignedIn, error, connectionId, isNew, isLinkOver, say, complain])
}
