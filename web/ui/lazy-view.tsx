/**
 * A view that is loaded on demand. React's `lazy` would keep showing the fallback for 300 ms even if the code arrives
 * sooner.
 */
import { useEffect, useReducer } from 'react'
import type { ComponentType } from 'react'
import { Action } from './action.tsx'
import { Loading } from './loading.tsx'
import { useSay } from './message.tsx'
import { isReachable, onReturn } from './reachability.ts'
import { View } from './view.tsx'

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
        begun = undefined
        void isReachable()
      },
    ))

  const Lazy = () => {
    const [, draw] = useReducer((times: number) => times + 1, 0)
    useEffect(() => {
      if (!result) void begin().then(draw)
      return () => {
        // It is tried again when the view is opened again.
        if (result && 'error' in result) result = undefined
      }
    }, [])
    if (!result) return <Loading shape="view" />
    if ('Loaded' in result) return <result.Loaded />
    return (
      <NotLoaded
        again={async () => {
          await begin()
          // Some browsers remember that a script could not be loaded, and a newer build has other scripts.
          if (result && 'error' in result && (await isReachable())) location.reload()
          else draw()
          return result !== undefined && 'Loaded' in result
        }}
      />
    )
  }
  return { View: Lazy, load: () => void begin() }
}

/** In place of the view, so that the rest of the page stays. */
function NotLoaded({ again }: { again: () => Promise<boolean> }) {
  const { complain } = useSay()
  useEffect(() => onReturn(() => void again()), [again])
  return (
    <View
      title="This page couldn’t be loaded"
      lead="You may be offline, or the service was updated after you opened it. Nothing was changed."
    >
      <Action
        look="main"
        act={async () => {
          if (!(await again())) complain('This page still can’t be loaded.')
        }}
      >
        Try again
      </Action>
    </View>
  )
}
