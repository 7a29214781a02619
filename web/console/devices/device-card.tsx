import { useQueryClient } from '@tanstack/react-query'
import type { Device } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Ago, Moment } from '../../ui/time.tsx'
import { Badge, Card, Theirs, focusHeading } from '../../ui/view.tsx'
import { service } from '../service.ts'

const platforms = { ios: 'iPhone or iPad', android: 'Android', web: 'Browser' }

export function DeviceCard({ device, isRequired }: { device: Device; isRequired: boolean }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const name = device.device_name ?? 'Unnamed device'
  const remove = async () => {
    await service.devices.revoke(device.device_id)
    await queries.invalidateQueries({ queryKey: ['devices'] })
    say('The device was removed. Its signatures are no longer accepted.')
  }
  const enrol = async () => {
    await service.devices.enrol(device.device_id)
    await queries.invalidateQueries({ queryKey: ['devices'] })
    focusHeading()
    say('The device can approve now.')
  }
  return (
    <Card>
      <div className="flex flex-wrap items-start justify-between gap-4">
        <div className="min-w-0 space-y-1">
          <p className="flex flex-wrap items-center gap-2">
            <Theirs>{name}</Theirs>
            {device.key?.enrolled && <Badge tone="good">Can approve</Badge>}
            {device.key && !device.key.enrolled && <Badge tone="warn">Can’t approve yet</Badge>}
            {device.push && <Badge>Notifications on</Badge>}
          </p>
          <p className="text-sm text-quiet">
            {platforms[device.platform]}, paired <Moment at={device.created_at} />, last seen{' '}
            <Ago at={device.last_seen_at} />
          </p>
          {device.key && (
            <p className="text-sm text-quiet">
              Key <code className="font-mono text-xs break-all">{device.key.thumbprint}</code>
            </p>
          )}
          {device.key && !device.key.enrolled && (
            <p className="text-sm">
              {isRequired
                ? 'A device that can approve must confirm it first: open the authenticator there.'
                : 'Allow it only if it is yours and shows the same key. Otherwise, remove it.'}
            </p>
          )}
        </div>
        <div className="flex flex-wrap gap-2">
          {device.key && !device.key.enrolled && !isRequired && (
            <Action label={`Allow it to approve: ${name}`} act={enrol}>
              Allow it to approve
            </Action>
          )}
          {isRequired ? (
            <p className="max-w-60 text-sm text-quiet">
              To remove it, open the authenticator on another device that can approve.
            </p>
          ) : (
            <Confirm
              opener="Remove"
              openerLabel={`Remove ${name}`}
              title="Remove this device?"
              verb="Remove"
              act={remove}
            >
              <p>
                <Theirs>{name}</Theirs> immediately loses access: it no longer sees or approves requests. Grants it
                approved stay active until you revoke them.
              </p>
            </Confirm>
          )}
        </div>
      </div>
    </Card>
  )
}
