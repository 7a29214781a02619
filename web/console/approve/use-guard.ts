/**
 * Clickjacking protection: the approve and deny buttons are disabled briefly after the page, or new content in it,
 * becomes visible, so that a user who was made to click fast elsewhere doesn't hit them.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

const guardMs = 700

export interface Guard {
  isOn: boolean
  /** The current value, without waiting for a render. */
  isOnNow: () => boolean
}

/** `shown` changes with the visible content. */
export function useGuard(shown: string): Guard {
  const now = useRef(true)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [isOn, setIsOn] = useState(true)
  const [last, setLast] = useState(shown)
  if (last !== shown) {
    setLast(shown)
    setIsOn(true)
  }
  const wait = useCallback(() => {
    now.current = true
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      now.current = false
      setIsOn(false)
    }, guardMs)
  }, [])
  useLayoutEffect(wait, [wait, shown])
  useEffect(() => {
    const onShown = () => {
      setIsOn(true)
      wait()
    }
    addEventListener('focus', onShown)
    addEventListener('pageshow', onShown)
    document.addEventListener('visibilitychange', onShown)
    return () => {
      clearTimeout(timer.current)
      removeEventListener('focus', onShown)
      removeEventListener('pageshow', onShown)
      document.removeEventListener('visibilitychange', onShown)
    }
  }, [wait])
  const isOnNow = useCallback(() => now.current, [])
  return { isOn, isOnNow }
}
