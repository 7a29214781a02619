/**
 * Keeps the user's place in a list that grows at its top: while they read, what is new is only counted. At the top of the
 * page, with the pointer and the focus elsewhere, it is shown at once.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { isComingBack } from '../../ui/place.ts'

const topPx = 40

export function useListPlace(name: string, newest: string | undefined) {
  const queries = useQueryClient()
  const list = useRef<HTMLDivElement>(null)
  // It survives a visit to another page and back.
  const [shown, setShown] = useState(() => ({
    name,
    upTo: isComingBack() ? queries.getQueryData<string>(['seen', name]) : undefined,
  }))
  const upTo = shown.name === name ? shown.upTo : undefined
  const show = useCallback(() => {
    queries.setQueryData(['seen', name], newest)
    setShown({ name, upTo: newest })
  }, [queries, name, newest])

  const isBehind = newest !== undefined && upTo !== newest
  useLayoutEffect(() => {
    if (isBehind && (upTo === undefined || !isReading(list.current))) show()
  }, [isBehind, upTo, show])
  useEffect(() => {
    if (!isBehind) return
    const look = () => {
      if (!isReading(list.current)) show()
    }
    for (const event of ['scroll', 'pointermove', 'focusin']) addEventListener(event, look)
    return () => {
      for (const event of ['scroll', 'pointermove', 'focusin']) removeEventListener(event, look)
    }
  }, [isBehind, show])
  return { list, upTo: upTo ?? newest, show }
}

function isReading(list: HTMLElement | null): boolean {
  // Coming back, they will be where they were in a moment.
  return isComingBack() || scrollY > topPx || list?.matches(':hover, :focus-within') === true
}
