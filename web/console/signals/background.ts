/**
 * Keeps what waits current while the console is hidden. Of all hidden tabs a single one follows the service's events and
 * tells the others, because a browser allows few connections to a service.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { createCatchUp } from '../catch-up.ts'
import { follow, holdLock, pause, useIsVisible } from '../live.ts'

/** What waits, and whether the user is still signed in. */
const keys = ['access-requests', 'calls', 'me']
/** The name of the lock that one tab holds, and of the channel on which it tells the others. */
const background = 'sallyport pages in the background'

/** True while this tab is the one that follows events. */
export function useBackground(): boolean {
  const queries = useQueryClient()
  const isVisible = useIsVisible()
  const [isWatching, setIsWatching] = useState(false)
  useEffect(() => {
    if (isVisible) return
    const leaving = new AbortController()
    const catchUp = createCatchUp((key) => queries.invalidateQueries({ queryKey: [key] }), pause)
    const tabs = new BroadcastChannel(background)
    tabs.onmessage = () => {
      catchUp(keys)
    }
    holdLock(background, { signal: leaving.signal }, async () => {
      setIsWatching(true)
      await follow(leaving.signal, (changed) => {
        const known = keys.filter((key) => changed.includes(key))
        if (known.length === 0 || leaving.signal.aborted) return
        catchUp(known)
        tabs.postMessage('changed')
      })
      // Left, or the session has ended.
      setIsWatching(false)
    })
    return () => {
      leaving.abort()
      tabs.close()
      setIsWatching(false)
    }
  }, [queries, isVisible])
  return isWatching
}
