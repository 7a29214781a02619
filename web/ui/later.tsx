/**
 * A view whose code is loaded when it is opened. React's own `lazy` would go on showing what it shows meanwhile for
 * 300 ms, however soon the code is there.
 */
import { useEffect, useState } from 'react'
import type { ComponentType } from 'react'
import { Loading } from './loading.tsx'

export interface Later {
  View: ComponentType
  /** Begins before it is shown. */
  load: () => void
}

export function later(load: () => Promise<ComponentType>): Later {
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
    // The page's own answer to what is broken.
    if ('error' in result) throw result.error
    return <result.Loaded />
  }
  return { View, load: () => void begin() }
}
