/** This device's name and key, whether it can approve, and whether notifications are on. */
import { thumbprintOf } from '@sallyport/sdk'
import type { Device, DeviceClient, MeReply } from '@sallyport/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Action } from '../ui/action.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { useSay } from '../ui/message.tsx'
import { Moment } from '../ui/time.tsx'
import { Badge, Card, Notice, Section, Theirs } from '../ui/view.tsx'
import { canRing, ring } from './installed.ts'
import { forget } from './kept-device.ts'
import type { KeptDevice } from './kept-device.ts'
import { OtherDevices } from './other-devices.tsx'

interface ThisDeviceProps {
  device: DeviceClient
  kept: KeptDevice
  me: MeReply
  record: Device
  onForgotten: () => unknown
}

export function ThisDevice({ device, kept, me, record, onForgotten }: ThisDeviceProps) {
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
              <Ringing device={device} kept={kept} isRinging={record.push} />
            </Fact>
          </dl>
          {!isEnrolled && (
            <div className="mt-4">
              <Notice>
                You approve on your devices only, so a device that can already approve must confirm this one. Open the
                authenticator there and compare the key.
              </Notice>
            </div>
          )}
        </Card>
      </Section>
      {isEnrolled && <OtherDevices device={device} me={me} />}
      <Remove device={device} onForgotten={onForgotten} />
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

function Ringing({ device, kept, isRinging }: Pick<ThisDeviceProps, 'device' | 'kept'> & { isRinging: boolean }) {
  const queries = useQueryClient()
  const { say, complain } = useSay()
  if (isRinging) return <Badge tone="good">on</Badge>
  if (!canRing()) return <>This browser doesn’t support push notifications. Keep this page open instead.</>
  const switchOn = async () => {
    if (!(await ring(device, kept))) {
      complain('Notifications are blocked. Allow them for this site in your browser’s settings.')
      return
    }
    say('Notifications are on.')
    await queries.invalidateQueries({ queryKey: ['me'] })
  }
  return <Action act={switchOn}>Turn on notifications</Action>
}

function Remove({ device, onForgotten }: Pick<ThisDeviceProps, 'device' | 'onForgotten'>) {
  const remove = async () => {
    await device.unpair()
    await forget()
    await onForgotten()
  }
  return (
    <Confirm opener="Remove this device" title="Remove this device?" verb="Remove" act={remove}>
      <p>It will no longer see or approve requests. Its key is deleted; to use it again, pair it again.</p>
    </Confirm>
  )
}
