import { Loaded } from '../../ui/loading.tsx'
import { Empty, Section, View } from '../../ui/view.tsx'
import { useDevices } from '../lists.ts'
import { useMe } from '../session.ts'
import { DesktopNotifications } from '../signals/desktop-notifications.tsx'
import { DeviceCard } from './device-card.tsx'
import { DeviceOnly } from './device-only.tsx'
import { MutedAgents } from './muted-agents.tsx'
import { PairDevice } from './pair-device.tsx'

export function Devices() {
  const me = useMe()
  const devices = useDevices()
  return (
    <View
      title="Devices"
      lead="A paired device notifies you when an agent requests access, and signs your decision with a key that never leaves it."
    >
      <PairDevice known={devices.data?.length} />
      <Section title="Paired">
        <Loaded query={devices}>
          {(paired) =>
            paired.length === 0 ? (
              <Empty title="No devices yet">
                To pair your phone, choose “Pair a device”, scan the code with the camera, and follow the instructions.
              </Empty>
            ) : (
              <ul className="space-y-3">
                {paired.map((device) => (
                  <li key={device.device_id}>
                    <DeviceCard device={device} isRequired={me.data?.require_device_approval ?? false} />
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </Section>
      {me.data && devices.data && <DeviceOnly user={me.data} devices={devices.data} />}
      {me.data && <DesktopNotifications user={me.data} />}
      <MutedAgents />
    </View>
  )
}
