/** The user's accounts: the list, and how to add or reconnect one. */
import { Route, Switch, useLocation } from 'wouter'
import { Accounts } from './accounts.tsx'
import { ChooseProvider } from './choose-provider.tsx'
import { useConnecting } from './connecting.tsx'

export function Connections() {
  const [, goTo] = useLocation()
  const { start, view } = useConnecting('/connections', () => {
    goTo('/connections')
  })
  return (
    view ?? (
      <Switch>
        <Route path="/connections/new">
          <ChooseProvider onStart={start} />
        </Route>
        <Route>
          <Accounts onStart={start} />
        </Route>
      </Switch>
    )
  )
}
