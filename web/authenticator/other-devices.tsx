/** Actions that a device signs: letting another one approve, removing one, and turning off device-only approval. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Device, DeviceClient, MeReply } from '@sallyport/sdk'
import { Action } from '../ui/action.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { useSay } from '../ui/message.tsx'
import { Ago } from '../ui/time.tsx'
import { Card, Section, Theirs } from '../ui/view.tsx'

export function OtherDevices({ device, me, deviceId }: { device: DeviceClient; me: MeReply; deviceId: string }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const isRequired = me.user.require_device_approval
  const devices = useQuery({
    queryKey: ['devices'],
    queryFn: ({ signal }) => device.devices.list({ status: 'active' }, { signal }).all(),
  })
  const others = (devices.data ?? []).filter(({ device_id: id }) => id !== deviceId)
  const waiting = others.filter(({ key }) => key !== null && !key.enrolled)
  const lift = async () => {
    await device.liftDeviceApproval()
    say('You can approve in the console again.')
    await queries.invalidateQueries()
  }
  if (!isRequired && waiting.length === 0) return null
  const removable = isRequired ? others : waiting
  return (
    <Section title="Manage approvals">
      {waiting.map((other) => (
        <WaitingDevice key={other.device_id} device={device} other={other} />
      ))}
      {removable.length > 0 && (
        <Card>
          <ul className="space-y-3">
            {removable.map((other) => (
              <RemovableDevice key={other.device_id} device={device} other={other} />
            ))}
          </ul>
        </Card>
      )}
      {isRequired && (
        <Card>
          <div className="flex flex-wrap items-center justify-between gap-3">
            <p className="text-sm">You approve on your devices only.</p>
            <Confirm opener="Turn off" title="Approve without a device?" verb="Sign and turn off" act={lift}>
              <p>Anyone signed in to the console as you will be able to approve requests.</p>
            </Confirm>
          </div>
        </Card>
      )}
    </Section>
  )
}

function WaitingDevice({ device, other }: { device: DeviceClient; other: Device }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const thumbprint = other.key?.thumbprint ?? ''
  const enrol = async () => {
    await device.enrol(other.device_id, thumbprint)
    say('The other device can approve now.')
    await queries.invalidateQueries({ queryKey: ['devices'] })
  }
  return (
    <Card>
      <div className="space-y-3 text-sm">
        <p>
          <Theirs>{other.device_name ?? 'Unnamed device'}</Theirs> wants to approve requests too. Compare this key with
          the one shown on that device:
        </p>
        <code className="block font-mono text-xs break-all">{thumbprint}</code>
        <Action act={enrol}>Keys match: allow it to approve</Action>
      </div>
    </Card>
  )
}

function RemovableDevice({ device, other }: { device: DeviceClient; other: Device }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const name = other.device_name ?? 'Unnamed device'
  const remove = async () => {
    await device.remove(other.device_id)
    say('The device was removed.')
    await queries.invalidateQueries({ queryKey: ['devices'] })
  }
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 text-sm">
      <span>
        <Theirs>{name}</Theirs>, last seen <Ago at={other.last_seen_at} />
      </span>
      <Confirm
        opener="Remove"
        openerLabel={`Remove ${name}`}
        title="Remove this device?"
        verb="Sign and remove"
        act={remove}
      >
        <p>
          <Theirs>{name}</Theirs> immediately loses access. Grants it approved stay active until you revoke them.
        </p>
      </Confirm>
    </li>
  )
}
