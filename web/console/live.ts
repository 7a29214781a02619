/** Refetches data that changed, while the page is visible. Hidden tabs hold no connection. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { EventTopic } from '@sallyport/protocol/events'
import { createCatchUp } from './catch-up.ts'
import { service } from './service.ts'

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

const eventTopics = Object.keys(keysOf) as EventTopic[]

export function useLive(): void {
  const queries = useQueryClient()
  const isVisible = useIsVisible()
  useEffect(() => {
    if (!isVisible) return
    const leaving = new AbortController()
    const catchUp = createCatchUp((key) => queries.invalidateQueries({ queryKey: [key] }), pause)
    void follow(leaving.signal, catchUp)
    return () => {
      leaving.abort()
    }
  }, [queries, isVisible])
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1_000))
}

async function follow(signal: AbortSignal, catchUp: (keys: string[]) => void): Promise<void> {
  const onChange = (topics: EventTopic[]) => {
    catchUp(topics.flatMap((topic) => keysOf[topic]))
  }
  try {
    for await (const { event, data } of service.events({ signal })) {
      if (event === 'changed') onChange(data.topics)
      // The session has ended: nothing else would be answered.
      if (event === 'ended') catchUp(['me'])
      // Anything may have changed while disconnected.
      if (event === 'ready') onChange(eventTopics)
    }
  } catch {
    // Without events, the page is still correct whenever it refetches.
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
