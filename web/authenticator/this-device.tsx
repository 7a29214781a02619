/** This device's name and key, whether it can approve, and whether notifications are on. */
import { thumbprintOf } from '@sallyport/sdk'
import type { Device, DeviceClient, MeReply } from '@sallyport/sdk'
import { useQuery } from '@tanstack/react-query'
import { Action } from '../ui/action.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Moment } from '../ui/time.tsx'
import { Badge, Card, Notice, Section, Theirs } from '../ui/view.tsx'
import { canRing } from './installed.ts'
import { forget } from './kept-device.ts'
import type { KeptDevice } from './kept-device.ts'
import { useTurnOn } from './offer-notifications.tsx'
import { OtherDevices } from './other-devices.tsx'

interface ThisDeviceProps {
  device: DeviceClient
  kept: KeptDevice
  me: MeReply
  record: Device
  /** Notifications are offered above. */
  isOffered: boolean
  onForgotten: () => unknown
}

export function ThisDevice({ device, kept, me, record, isOffered, onForgotten }: ThisDeviceProps) {
  const isEnrolled = record.key?.enrolled ?? false
  const { user } = me
  return (
    <>
      <Section title="This device">
        <Card>
          <dl className="space-y-3 text-sm">
            <Fact name="Name">
              <Theirs>{record.device_name ?? 'Unnamed device'}</Theirs>
            </Fact>
            <Fact name="Approves for">
              <Theirs>{user.name ?? user.email ?? user.user_id}</Theirs>
            </Fact>
            <Fact name="Paired">
              <Moment at={record.created_at} />
            </Fact>
            <Fact name="Key">
              <Thumbprint kept={kept} />
            </Fact>
            <Fact name="Can approve">
              {isEnrolled ? <Badge tone="good">yes</Badge> : <Badge tone="warn">not yet</Badge>}
            </Fact>
            <Fact name="Notifications">
              {isOffered ? <Badge>off</Badge> : <Ringing device={device} kept={kept} isOn={record.push} />}
            </Fact>
          </dl>
          {!isEnrolled && (
            <div className="mt-4">
              <Notice>
                {user.require_device_approval
                  ? 'You approve on your devices only, so a device that can already approve must confirm this one. Open the authenticator there and compare the key.'
                  : 'In the console, under Devices, compare the key and choose “Allow it to approve”.'}
              </Notice>
            </div>
          )}
        </Card>
      </Section>
      {isEnrolled && <OtherDevices device={device} me={me} deviceId={record.device_id} />}
      <Remove
        device={device}
        isRequired={user.require_device_approval}
        isEnrolled={isEnrolled}
        onForgotten={onForgotten}
      />
    </>
  )
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-3">
      <dt className="text-quiet">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Thumbprint({ kept }: { kept: KeptDevice }) {
  const thumbprint = useQuery({
    queryKey: ['thumbprint', kept.deviceId],
    queryFn: () => thumbprintOf(kept.key),
    networkMode: 'always',
    staleTime: Infinity,
  })
  return <code className="font-mono text-xs break-all">{thumbprint.data}</code>
}

function Ringing({ device, kept, isOn }: Pick<ThisDeviceProps, 'device' | 'kept'> & { isOn: boolean }) {
  const turnOn = useTurnOn(device, kept)
  if (isOn) return <Badge tone="good">on</Badge>
  if (!canRing()) return <>This browser doesn’t support push notifications. Keep this page open instead.</>
  return <Action act={turnOn}>Turn on notifications</Action>
}

interface RemoveProps extends Pick<ThisDeviceProps, 'device' | 'onForgotten'> {
  isRequired: boolean
  isEnrolled: boolean
}

function Remove({ device, isRequired, isEnrolled, onForgotten }: RemoveProps) {
  const remove = async () => {
    await device.unpair()
    await forget()
    await onForgotten()
  }
  // Its removal has to be signed.
  if (isRequired && !isEnrolled) {
    return <p className="text-sm text-quiet">To remove this device, use one that can approve.</p>
  }
  return (
    <Confirm opener="Remove this device" title="Remove this device?" verb="Remove" act={remove}>
      <p>It will no longer see or approve requests. Its key is deleted; to use it again, pair it again.</p>
      {isRequired && (
        <p>
          You approve on your devices only. If no other device can approve, nothing can be approved until the
          administrator of this service lets you approve in the console. Pair another one first, or turn that off.
        </p>
      )}
    </Confirm>
  )
}
