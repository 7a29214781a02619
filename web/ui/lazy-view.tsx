/**
 * A view that is loaded on demand. React's `lazy` would keep showing the fallback for 300 ms even if the code arrives
 * sooner.
 */
import { useEffect, useState } from 'react'
import type { ComponentType } from 'react'
import { Loading } from './loading.tsx'

export interface LazyView {
  View: ComponentType
  /** Starts loading before it is shown. */
  load: () => void
}

export function lazyView(load: () => Promise<ComponentType>): LazyView {
  let begun: Promise<void> | undefined
  let result: { Loaded: ComponentType } | { error: unknown } | undefined
  const begin = () =>
    (begun ??= load().then(
      (Loaded) => {
        result = { Loaded }
      },
      (error: unknown) => {
        result = { error }
      },
    ))

  const View = () => {
    const [, setEnded] = useState(result)
    useEffect(() => {
      if (!result)
        void begin().then(() => {
          setEnded(result)
        })
    }, [])
    if (!result) return <Loading />
    // Handled by the page's error boundary.
    if ('error' in result) throw result.error
    return <result.Loaded />
  }
  return { View, load: () => void begin() }
}
