/** Connects an account from any view: leads to the provider's page or shows a device code. */
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { useSay } from '../../ui/message.tsx'
import { begin } from './begin.ts'
import type { Begun, Wish } from './begin.ts'
import { DeviceFlow } from './device-flow.tsx'
import { Leaving } from './leaving.tsx'

interface Connecting {
  start: (wish: Wish) => Promise<void>
  /** Shown instead of the current view while there is a warning or a code. */
  view: ReactNode
}

export function useConnecting(returnTo: string, onConnected?: () => void): Connecting {
  const [begun, setBegun] = useState<Begun>()
  const queries = useQueryClient()
  const { say } = useSay()
  const start = async (wish: Wish) => {
    const next = await begin(wish, returnTo)
    if (next.way === 'browser' && next.warning === null) location.assign(next.url)
    else setBegun(next)
  }
  const back = () => {
    setBegun(undefined)
  }
  const connected = async () => {
    await queries.invalidateQueries({ queryKey: ['connections'] })
    setBegun(undefined)
    onConnected?.()
    say('The account is connected.')
  }
  if (begun && begun.warning !== null && !begun.isTrusted) {
    const trust = () => {
      if (begun.way === 'browser') location.assign(begun.url)
      else setBegun({ ...begun, isTrusted: true })
    }
    return { start, view: <Leaving begun={begun} onTrust={trust} onBack={back} /> }
  }
  if (begun?.way === 'device') {
    const { device_flow_id: id } = begun.flow
    const view = (
      <DeviceFlow key={id} begun={begun} onConnected={() => void connected()} onAgain={start} onBack={back} />
    )
    return { start, view }
  }
  return { start, view: undefined }
}
