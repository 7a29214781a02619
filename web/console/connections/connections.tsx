/** The user's accounts: the list, and how to add or reconnect one. */
import { Route, Switch, useLocation } from 'wouter'
import { Accounts } from './accounts.tsx'
import { ChooseProvider } from './choose-provider.tsx'
import { useConnecting } from './connecting.tsx'
import { ConnectRoute, ReplaceRoute } from './form-routes.tsx'

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
        <Route path="/connections/new/:slug">{({ slug }) => <ConnectRoute slug={slug} onStart={start} />}</Route>
        <Route path="/connections/:id/credential">{({ id }) => <ReplaceRoute id={id} />}</Route>
        <Route>
          <Accounts onStart={start} />
        </Route>
      </Switch>
    )
  )
}
