/**
 * Connects an account from any view: leads to the provider's page, shows a device code, or asks for a credential. Ends
 * where it began.
 */
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import type { Connection } from '@sallyport/sdk'
import { useSay } from '../../ui/message.tsx'
import { begin } from './begin.ts'
import type { Begun, Wish } from './begin.ts'
import { ConnectForm } from './connect-form.tsx'
import type { Connectable } from './connectable.ts'
import { DeviceFlow } from './device-flow.tsx'
import { Leaving } from './leaving.tsx'
import { ReplaceCredential } from './replace-form.tsx'

interface Entering {
  provider: Connectable
  /** The account whose credential is replaced. Without it one is added. */
  account?: Connection
}

interface Connecting {
  start: (wish: Wish) => Promise<void>
  enter: (entering: Entering) => void
  /** Shown instead of the current view while there is a warning, a code or a form. */
  view: ReactNode
}

export function useConnecting(returnTo: string, onConnected?: (connectionId?: string) => void): Connecting {
  const [begun, setBegun] = useState<Begun>()
  const [entering, enter] = useState<Entering>()
  const tellConnected = useTellConnected()
  const start = async (wish: Wish) => {
    const next = await begin(wish, returnTo)
    if (next.way === 'browser' && next.warning === null) location.assign(next.url)
    else setBegun(next)
  }
  const back = () => {
    setBegun(undefined)
    enter(undefined)
  }
  const connected = async (connectionId?: string) => {
    await tellConnected()
    back()
    onConnected?.(connectionId)
  }
  const viewOf = (): ReactNode => {
    if (begun && begun.warning !== null && !begun.isTrusted) {
      const trust = () => {
        if (begun.way === 'browser') location.assign(begun.url)
        else setBegun({ ...begun, isTrusted: true })
      }
      return <Leaving begun={begun} onTrust={trust} onBack={back} />
    }
    if (begun?.way === 'device') {
      const { device_flow_id: id } = begun.flow
      return <DeviceFlow key={id} begun={begun} onConnected={() => void connected()} onAgain={start} onBack={back} />
    }
    if (!entering) return undefined
    const { provider, account } = entering
    return account ? (
      <ReplaceCredential account={account} provider={provider} onReplaced={() => connected()} onBack={back} />
    ) : (
      <ConnectForm provider={provider} onStart={start} onConnected={connected} onBack={back} />
    )
  }
  return { start, enter, view: viewOf() }
}

/** Reloads what has changed, and says so. */
export function useTellConnected(): (text?: string) => Promise<void> {
  const queries = useQueryClient()
  const { say } = useSay()
  return async (text = 'The account is connected.') => {
    await Promise.all(
      ['connections', 'grants', 'providers'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
    )
    say(text)
  }
}
