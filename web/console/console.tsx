/** Which view stands at which address. What is seldom opened is loaded when it is. */
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { Loading } from '../ui/loading.tsx'
import { View } from '../ui/view.tsx'
import { Approve } from './approve/approve.tsx'
import { Home } from './home/home.tsx'
import { Frame, Shell } from './shell.tsx'
import { SignedIn } from './sign-in/signed-in.tsx'

const Account = lazy(async () => ({ default: (await import('./account/account.tsx')).Account }))
const Activity = lazy(async () => ({ default: (await import('./activity/activity.tsx')).Activity }))
const Admin = lazy(async () => ({ default: (await import('./admin/admin.tsx')).Admin }))
const Connections = lazy(async () => ({ default: (await import('./connections/connections.tsx')).Connections }))
const Devices = lazy(async () => ({ default: (await import('./devices/devices.tsx')).Devices }))
const Grants = lazy(async () => ({ default: (await import('./grants/grants.tsx')).Grants }))

export function Console() {
  return (
    <Switch>
      <Route path="/approve-proxy/:id">{({ id }) => <Approve id={id} />}</Route>
      <Route path="/admin/*?">
        <Frame>
          <Suspense fallback={<Loading />}>
            <Admin />
          </Suspense>
        </Frame>
      </Route>
      <Route>
        <SignedIn>
          {(user) => (
            <Shell user={user}>
              <Suspense fallback={<Loading />}>
                <Switch>
                  <Route path="/" component={Home} />
                  <Route path="/connections/*?" component={Connections} />
                  <Route path="/grants/*?" component={Grants} />
                  <Route path="/activity/*?" component={Activity} />
                  <Route path="/devices/*?" component={Devices} />
                  <Route path="/account" component={Account} />
                  <Route>
                    <View title="There is nothing here" lead="The address leads nowhere." />
                  </Route>
                </Switch>
              </Suspense>
            </Shell>
          )}
        </SignedIn>
      </Route>
    </Switch>
  )
}
