/** What changes at the service is asked for anew, while the page is in view: a hidden tab holds no connection. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { EventTopic } from '@sallyport/protocol/events'
import { createCatchUp } from './catch-up.ts'
import { service } from './service.ts'

/** By topic, the first words of the keys of the queries that are out of date then. */
const keysOf: Record<EventTopic, string[]> = {
  access_requests: ['access-requests'],
  grants: ['grants'],
  connections: ['connections'],
  devices: ['devices'],
  sessions: ['sessions'],
  muted_agents: ['muted-agents'],
  providers: ['providers'],
  me: ['me'],
  // Each call changes how often and when its grant and its account were used last.
  activity: ['activity', 'grants', 'connections'],
}

const eventTopics = Object.keys(keysOf) as EventTopic[]

export function useLive(): void {
  const queries = useQueryClient()
  const isVisible = useIsVisible()
  useEffect(() => {
    if (!isVisible) return
    const leaving = new AbortController()
    const catchUp = createCatchUp((key) => queries.invalidateQueries({ queryKey: [key] }), pause)
    void follow(leaving.signal, (topics) => {
      catchUp(topics.flatMap((topic) => keysOf[topic]))
    })
    return () => {
      leaving.abort()
    }
  }, [queries, isVisible])
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1_000))
}

async function follow(signal: AbortSignal, onChange: (topics: EventTopic[]) => void): Promise<void> {
  try {
    for await (const { event, data } of service.events({ signal })) {
      if (event === 'changed') onChange(data.topics)
      // The session is over.
      if (event === 'ended') onChange(['me'])
      // While nobody listened, anything may have changed.
      if (event === 'ready') onChange(eventTopics)
    }
  } catch {
    // Without it the page is still right whenever it asks.
  }
}

function useIsVisible(): boolean {
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
