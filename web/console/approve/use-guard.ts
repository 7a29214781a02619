/**
 * Whoever is made to click fast on another page must not find the buttons that decide under the next click: they wait
 * after each time that the page, or something else in it, comes into view.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

const guardMs = 700

export interface Guard {
  isOn: boolean
  /** The same at this very moment, before anything is drawn anew. */
  isOnNow: () => boolean
}

/** `shown` changes with what is in view. */
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
