/** The guard against whoever gets hold of a console session: it can then approve nothing. */
import { useQueryClient } from '@tanstack/react-query'
import type { Device, User } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
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
    say('From now on only a device of yours can approve.')
  }
  return (
    <Section
      title="Approve on device only"
      note="Then a console that somebody else got into can approve nothing: a device has to sign each approval."
    >
      <Card>
        <div className="flex flex-wrap items-center justify-between gap-4">
          <div className="space-y-1">
            <p>{user.require_device_approval ? <Badge tone="good">on</Badge> : <Badge>off</Badge>}</p>
            <p className="text-sm text-quiet">
              {deciding.length === 0 ? (
                'It takes a device that decides. Pair one first.'
              ) : (
                <>
                  What would decide:{' '}
                  {deciding.map(({ device_id: id, device_name: name }, index) => (
                    <span key={id}>
                      {index > 0 && ', '}
                      <Theirs>{name ?? 'a device without a name'}</Theirs>
                    </span>
                  ))}
                  . Remove whatever you don’t know.
                </>
              )}
            </p>
            {user.require_device_approval && (
              <p className="text-sm">It is switched off in the authenticator of a device that decides.</p>
            )}
          </div>
          {!user.require_device_approval && (
            <Action act={switchOn} isHeld={deciding.length === 0}>
              Switch on
            </Action>
          )}
        </div>
      </Card>
    </Section>
  )
}
