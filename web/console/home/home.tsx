/** Pending requests, items that need attention, and recent activity. */
import { Loaded } from '../../ui/loading.tsx'
import { useNow } from '../../ui/time.tsx'
import { View } from '../../ui/view.tsx'
import { Sandbox } from '../account/sandbox.tsx'
import { useActiveGrants, useConnections, useDevices, useNewestGrants, useWaitingRequests } from '../lists.ts'
import { Attention } from './attention.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Recent, useRecent } from './recent.tsx'
import { Waiting } from './waiting.tsx'

export function Home() {
  return (
    <View title="Home" isWide>
      <Lists />
    </View>
  )
}

function Lists() {
  const requests = useWaitingRequests()
  const connections = useConnections()
  const grants = useActiveGrants()
  const devices = useDevices()
  // Of any status, and of the sandbox.
  const ever = useNewestGrants()
  // Shown once the others are there, and requested with them.
  useRecent()
  const now = useNow()
  return (
    <Loaded query={connections} shape="cards">
      {(accounts) => (
        <Loaded query={grants} shape="cards">
          {(granted) => {
            const isNew = granted.length === 0 && ever.data?.length === 0
            const hasAsked = requests.data !== undefined && requests.data.length > 0
            return (
              <div className="grid gap-8 2xl:grid-cols-[minmax(0,1fr)_34rem] 2xl:items-start 2xl:gap-10">
                <div className="min-w-0 space-y-8">
                  {(!isNew || requests.data?.length !== 0) && <Waiting />}
                  <Attention connections={accounts} grants={granted} devices={devices.data ?? []} now={now} />
                  {isNew && <FirstSteps isConnected={accounts.length > 0} hasAsked={hasAsked} />}
                  {isNew && <Sandbox />}
                </div>
                <Recent />
              </div>
            )
          }}
        </Loaded>
      )}
    </Loaded>
  )
}
