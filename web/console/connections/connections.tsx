/** A person's accounts at providers: the list, and the ways to add to it or to renew one. */
import { useState } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { useSay } from '../../ui/message.tsx'
import { Accounts } from './accounts.tsx'
import { ChooseProvider } from './choose-provider.tsx'
import { DeviceFlow } from './device-flow.tsx'
import { Leaving } from './leaving.tsx'
import { begin } from './begin.ts'
import type { Begun, Wish } from './begin.ts'

export function Connections() {
  const [begun, setBegun] = useState<Begun>()
  const [, goTo] = useLocation()
  const { say } = useSay()
  const start = async (wish: Wish) => {
    const next = await begin(wish)
    if (next.way === 'browser' && next.warning === null) location.assign(next.url)
    else setBegun(next)
  }
  const back = () => {
    setBegun(undefined)
  }
  const connected = () => {
    setBegun(undefined)
    goTo('/connections')
    say('The account is connected.')
  }
  if (begun && begun.warning !== null && !begun.isTrusted) {
    const trust = () => {
      if (begun.way === 'browser') location.assign(begun.url)
      else setBegun({ ...begun, isTrusted: true })
    }
    return <Leaving begun={begun} onTrust={trust} onBack={back} />
  }
  if (begun?.way === 'device') {
    return (
      <DeviceFlow key={begun.flow.device_flow_id} begun={begun} onConnected={connected} onAgain={start} onBack={back} />
    )
  }
  return (
    <Switch>
      <Route path="/connections/new">
        <ChooseProvider onStart={start} />
      </Route>
      <Route>
        <Accounts onStart={start} />
      </Route>
    </Switch>
  )
}
