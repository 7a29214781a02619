/** Refetches data that changed, while the page is visible. What hidden ones do is in signals/. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, useState } from 'react'
import type { EventTopic } from '@sallyport/protocol/events'
import { onReturn } from '../ui/reachability.ts'
import { createCatchUp } from './catch-up.ts'
import { closeGate } from './reading-gate.ts'
import { service } from './service.ts'
import { isSigningOut } from './session.ts'

/** The query keys that each topic invalidates. */
const keysOf: Record<EventTopic, string[]> = {
  access_requests: ['access-requests'],
  calls: ['calls'],
  grants: ['grants'],
  connections: ['connections'],
  devices: ['devices'],
  sessions: ['sessions'],
  muted_agents: ['muted-agents'],
  providers: ['providers'],
  me: ['me', 'pause'],
  // Each call changes the usage of its grant and its account.
  activity: ['activity', 'grants', 'connections'],
}

/** The lock that each visible page holds, shared with the others. */
const onScreen = 'sallyport pages on screen'

const everything = [...new Set(Object.values(keysOf).flat())]

export function useLive(): void {
  const queries = useQueryClient()
  const isVisible = useIsVisible()
  // Before the effects of the views that are shown, which read.
  useLayoutEffect(() => {
    if (!isVisible) return
    const leaving = new AbortController()
    holdLock(onScreen, { signal: leaving.signal, mode: 'shared' }, () => untilAborted(leaving.signal))
    const refetch = (key: string) =>
      isSigningOut(queries) ? Promise.resolve() : queries.invalidateQueries({ queryKey: [key] })
    const catchUp = createCatchUp(refetch, pause)
    let connection = new AbortController()
    const connect = () => {
      connection.abort()
      connection = new AbortController()
      const openGate = closeGate()
      const onReady = () => {
        catchUp(everything.filter((key) => key !== 'me'))
        // Who is signed in was asked a moment ago, unless the connection was lost.
        void queries.invalidateQueries({ queryKey: ['me'], stale: true })
        openGate()
      }
      const signal = AbortSignal.any([leaving.signal, connection.signal])
      void follow(signal, catchUp, onReady).finally(openGate)
    }
    connect()
    const stop = onReturn(connect)
    return () => {
      stop()
      leaving.abort()
    }
  }, [queries, isVisible])
}

/** Whether any page is visible, in any tab or window of this browser. */
export async function isOnScreen(): Promise<boolean> {
  const { held = [] } = await navigator.locks.query()
  return held.some(({ name }) => name === onScreen)
}

/** There are no locks on plain http from another machine. */
export function holdLock(name: string, options: LockOptions, hold: () => Promise<void>): void {
  if (!('locks' in navigator)) return
  // It is refused only if the signal was aborted.
  navigator.locks.request(name, options, hold).catch(() => undefined)
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve()
    })
  })
}

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1_000))
}

export async function follow(
  signal: AbortSignal,
  catchUp: (keys: string[]) => void,
  /** Anything may have changed while disconnected. */
  onReady = () => {
    catchUp(everything)
  },
): Promise<void> {
  try {
    for await (const { event, data } of service.events({ signal })) {
      if (event === 'changed') catchUp(data.topics.flatMap((topic) => keysOf[topic]))
      // The session has ended: nothing else would be answered.
      if (event === 'ended') catchUp(['me'])
      if (event === 'ready') onReady()
    }
  } catch {
    // Without events, the page is still correct whenever it refetches.
  }
}

export function useIsVisible(): boolean {
  const [isVisible, setIsVisible] = useState(() => document.visibilityState === 'visible')
  useEffect(() => {
    const look = () => {
      setIsVisible(document.visibilityState === 'visible')
    }
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
    }
  }, [])
  return isVisible
}
