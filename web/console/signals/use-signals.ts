/** Tells a user who looks elsewhere that something waits: by the tab's title, and by desktop notifications. */
import { useEffect, useMemo, useRef } from 'react'
import type { User } from '@sallyport/sdk'
import { useLocation } from 'wouter'
import { showWaiting } from '../../ui/title.ts'
import { useHeldCalls, useWaitingRequests } from '../lists.ts'
import { isOnScreen } from '../live.ts'
import { service } from '../service.ts'
import { createLimit, createPicker, waitingItems } from './announce.ts'
import type { Waiting } from './announce.ts'
import { useBackground } from './background.ts'
import { useWish } from './kept-wish.ts'

export function useSignals(user: User): void {
  const isWatching = useBackground()
  const { data: requests } = useWaitingRequests()
  const { data: calls } = useHeldCalls()
  const count = (requests?.length ?? 0) + (calls?.length ?? 0)
  useEffect(() => {
    showWaiting(count)
    return () => {
      showWaiting(0)
    }
  }, [count])

  const items = useMemo(() => requests && calls && waitingItems(requests, calls), [requests, calls])
  useNotifications(items, useWish(user.user_id) && isWatching)
}

function useNotifications(items: Waiting[] | undefined, isRinging: boolean): void {
  const [, navigate] = useLocation()
  const pick = useRef(createPicker())
  const limit = useRef(createLimit())
  const shown = useRef(new Map<string, Notification>())
  useEffect(() => {
    if (!items) return
    for (const [id, notification] of shown.current) {
      if (items.some((item) => item.id === id)) continue
      notification.close()
      shown.current.delete(id)
    }
    const fresh = pick.current(items)
    if (!isRinging || fresh.length === 0) return
    void withoutMuted(fresh).then(async (audible) => {
      if (await isOnScreen()) return
      for (const { id, title, body, path } of limit.current(audible, Date.now())) {
        const notification = new Notification(title, { body, tag: id, icon: '/authenticator-192.png' })
        notification.addEventListener('click', () => {
          window.focus()
          navigate(path)
          notification.close()
        })
        shown.current.set(id, notification)
      }
    })
  }, [items, isRinging, navigate])
}

/** The list of muted agents is asked for when it matters, so it is never an old one. */
async function withoutMuted(items: Waiting[]): Promise<Waiting[]> {
  try {
    const muted = new Set((await service.mutedAgents.list().all()).map(({ agent_id: id }) => id))
    return items.filter(({ agentId }) => !muted.has(agentId))
  } catch {
    // The title still has the number.
    return []
  }
}
