/** Device-only approval, which keeps a stolen console session from approving anything. */
import { useQueryClient } from '@tanstack/react-query'
import type { Device, User } from '@sallyport/sdk'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Badge, Card, Section, Theirs, focusHeading } from '../../ui/view.tsx'
import { service } from '../service.ts'

export function DeviceOnly({ user, devices }: { user: User; devices: Device[] }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const deciding = devices.filter(({ key }) => key?.enrolled)
  const switchOn = async () => {
    await service.auth.changeMe({ require_device_approval: true })
    await queries.invalidateQueries({ queryKey: ['me'] })
    focusHeading()
    say('From now on, only your devices can approve.')
  }
  return (
    <Section
      title="Approve on device only"
      note="Even someone who gets into your console can’t approve: a device has to sign each approval."
    >
      <Card>
        <div className="flex flex-wrap items-center justify-between gap-4">
          <div className="space-y-1">
            <p>{user.require_device_approval ? <Badge tone="good">on</Badge> : <Badge>off</Badge>}</p>
            <p className="text-sm text-quiet">
              {deciding.length === 0 ? (
                'Pair a device that can approve first.'
              ) : (
                <>
                  Devices that can approve:{' '}
                  {deciding.map(({ device_id: id, device_name: name }, index) => (
                    <span key={id}>
                      {index > 0 && ', '}
                      <Theirs>{name ?? 'Unnamed device'}</Theirs>
                    </span>
                  ))}
                  . Remove any you don’t recognize.
                </>
              )}
            </p>
            {user.require_device_approval && (
              <p className="text-sm">Turn it off in the authenticator on a device that can approve.</p>
            )}
          </div>
          {!user.require_device_approval && deciding.length > 0 && (
            <Confirm opener="Turn on" title="Approve on device only?" verb="Turn on" act={switchOn}>
              <p>
                This console can then approve nothing, and only a device can turn it off again.
                {deciding.length === 1 && ' You have one device that can approve. If you lose it, nothing can.'}
              </p>
              <p>
                If you lose all of them, only the administrator of this service can let you approve here again.
                {deciding.length === 1 && ' Pair a second one first.'}
              </p>
            </Confirm>
          )}
        </div>
      </Card>
    </Section>
  )
}
