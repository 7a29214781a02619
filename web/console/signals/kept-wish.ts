/** Whether a user wants desktop notifications in this browser. The browser's permission is asked apart from that. */
import { useSyncExternalStore } from 'react'

const changed = new EventTarget()
const placeOf = (userId: string) => `notifications ${userId}`

export function useWish(userId: string): boolean {
  return useSyncExternalStore(listen, () => isWanted(userId))
}

/** Throws if the browser forbids it. */
export function keepWish(userId: string, isWished: boolean): void {
  if (isWished) localStorage.setItem(placeOf(userId), 'on')
  else localStorage.removeItem(placeOf(userId))
  changed.dispatchEvent(new Event('change'))
}

function isWanted(userId: string): boolean {
  try {
    return localStorage.getItem(placeOf(userId)) === 'on' && Notification.permission === 'granted'
  } catch {
    return false
  }
}

function listen(tell: () => void): () => void {
  changed.addEventListener('change', tell)
  // Another tab changed it.
  addEventListener('storage', tell)
  return () => {
    changed.removeEventListener('change', tell)
    removeEventListener('storage', tell)
  }
}

/**
 * Pages can show notifications on computers only: on Android it takes a service worker, as the authenticator has. Both
 * also need a secure context, which plain http from another machine is not.
 */
export function canNotify(): boolean {
  return 'Notification' in window && 'locks' in navigator && !/\bAndroid\b/.test(navigator.userAgent)
}
