/** Routes to the views. Rarely used views are loaded on demand. */
import { Link, Route, Switch } from 'wouter'
import { buttonLook } from '../ui/action.tsx'
import { lazyView } from '../ui/lazy-view.tsx'
import { View } from '../ui/view.tsx'
import { Approve } from './approve/approve.tsx'
import { Home } from './home/home.tsx'
import { Shell } from './shell.tsx'
import { SignedIn } from './sign-in/signed-in.tsx'

const Account = lazyView(async () => (await import('./account/account.tsx')).Account)
const AgentView = lazyView(async () => (await import('./agents/agent.tsx')).Agent)
const Activity = lazyView(async () => (await import('./activity/activity.tsx')).Activity)
const Admin = lazyView(async () => (await import('./admin/admin.tsx')).Admin)
const ApproveCall = lazyView(async () => (await import('./calls/approve-call.tsx')).ApproveCall)
const ConnectAgent = lazyView(async () => (await import('./connect-agent/connect-agent.tsx')).ConnectAgent)
const Connections = lazyView(async () => (await import('./connections/connections.tsx')).Connections)
const Devices = lazyView(async () => (await import('./devices/devices.tsx')).Devices)
const Grants = lazyView(async () => (await import('./grants/grants.tsx')).Grants)

const views = new Map([
  ['account', Account],
  ['activity', Activity],
  ['agents', AgentView],
  ['admin', Admin],
  ['approve-call', ApproveCall],
  ['connect-agent', ConnectAgent],
  ['connections', Connections],
  ['devices', Devices],
  ['grants', Grants],
])
// Start loading the view of this URL while the session is checked.
views.get(location.pathname.split('/')[1] ?? '')?.load()

export function Console() {
  return (
    <Switch>
      <Route path="/approve-proxy/:id">{({ id }) => <Approve id={id} />}</Route>
      <Route path="/approve-call/:id">
        <ApproveCall.View />
      </Route>
      <Route path="/admin/*?">
        <Admin.View />
      </Route>
      <Route>
        <SignedIn>
          {(user) => (
            <Shell key={user.user_id} user={user}>
              <Switch>
                <Route path="/" component={Home} />
                <Route path="/connect-agent" component={ConnectAgent.View} />
                <Route path="/connections/*?" component={Connections.View} />
                <Route path="/grants/*?" component={Grants.View} />
                <Route path="/agents/:id" component={AgentView.View} />
                <Route path="/activity/*?" component={Activity.View} />
                <Route path="/devices/*?" component={Devices.View} />
                <Route path="/account" component={Account.View} />
                <Route>
                  <View title="Page not found" lead="There is no page at this address.">
                    <Link href="/" className={buttonLook('plain')}>
                      Back to Home
                    </Link>
                  </View>
                </Route>
              </Switch>
            </Shell>
          )}
        </SignedIn>
      </Route>
    </Switch>
  )
}
