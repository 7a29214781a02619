/** What this device is to the service: its name, its key, whether it may decide and whether it rings. */
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
              <Theirs>{record.device_name ?? 'without a name'}</Theirs>
            </Fact>
            <Fact name="Decides for">
              <Theirs>{user.name ?? user.email ?? user.user_id}</Theirs>
            </Fact>
            <Fact name="Paired">
              <Moment at={record.created_at} />
            </Fact>
            <Fact name="Its key">
              <Thumbprint kept={kept} />
            </Fact>
            <Fact name="May decide">
              {isEnrolled ? <Badge tone="good">yes, by signature</Badge> : <Badge tone="warn">not yet</Badge>}
            </Fact>
            <Fact name="Rings">
              <Ringing device={device} kept={kept} isRinging={record.push} />
            </Fact>
          </dl>
          {!isEnrolled && (
            <div className="mt-4">
              <Notice>
                You approve on devices only, so one that may decide has to agree to this one first. Open the
                authenticator there, and compare the key.
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
  if (isRinging) return <Badge tone="good">yes</Badge>
  if (!canRing()) return <>This browser knows no push messages. Keep the page open instead.</>
  const switchOn = async () => {
    if (!(await ring(device, kept))) {
      complain('The browser was not allowed to notify you. Allow it in its settings for this site.')
      return
    }
    say('Requests ring here from now on.')
    await queries.invalidateQueries({ queryKey: ['me'] })
  }
  return <Action act={switchOn}>Let requests ring here</Action>
}

function Remove({ device, onForgotten }: Pick<ThisDeviceProps, 'device' | 'onForgotten'>) {
  const remove = async () => {
    await device.unpair()
    await forget()
    await onForgotten()
  }
  return (
    <Confirm opener="Remove this device" title="Remove this device?" verb="Remove" act={remove}>
      <p>It is shown nothing any more and decides nothing. Its key is deleted; to use it again, you pair it anew.</p>
    </Confirm>
  )
}
