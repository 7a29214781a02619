import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminClient, CreateLoginTokenReply, ListedUser } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { useSay } from '../../ui/message.tsx'
import { Moment } from '../../ui/time.tsx'
import { Badge, Card, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { IssuedLink } from './issued-link.tsx'

export function UserCard({ admin, user }: { admin: AdminClient; user: ListedUser }) {
  const queries = useQueryClient()
  const { say } = useSay()
  const name = user.name ?? user.email ?? user.user_id
  const [issued, setIssued] = useState<CreateLoginTokenReply>()
  const issue = async () => {
    setIssued(await admin.createLoginToken({ user_id: user.user_id }))
    say('Link created. It works once.')
  }
  const change = async (act: () => Promise<unknown>, text: string) => {
    await act()
    await queries.invalidateQueries({ queryKey: ['admin', 'users'] })
    say(text)
  }
  return (
    <li>
      <Card>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <div className="min-w-0">
            <p className="flex flex-wrap items-center gap-2">
              <Theirs>{name}</Theirs>
              {user.status === 'disabled' && <Badge tone="bad">disabled</Badge>}
              {user.require_device_approval && <Badge>approves on device only</Badge>}
            </p>
            <p className="text-sm text-quiet">
              {user.email && user.email !== name && (
                <>
                  <bdi>{user.email}</bdi>,{' '}
                </>
              )}
              member since <Moment at={user.created_at} />
            </p>
            <p className="text-sm text-quiet">
              {count(user.active_grants, 'active grant')}
              {' · '}
              {user.last_seen_at ? (
                <>
                  last seen <Moment at={user.last_seen_at} />
                </>
              ) : (
                'not seen in the last month'
              )}
            </p>
            <p className="font-mono text-xs text-quiet">{user.user_id}</p>
          </div>
          {user.status === 'active' && (
            <div className="flex flex-wrap gap-2">
              <Action act={issue} label={`Sign-in link for ${name}`}>
                Sign-in link
              </Action>
              {user.require_device_approval && (
                <Confirm
                  opener="Lost devices"
                  openerLabel={`Lost devices: ${name}`}
                  title="Let this user approve without a device?"
                  verb="Allow in the console"
                  act={() =>
                    change(
                      () => admin.users.resetDeviceApproval(user.user_id),
                      'The user can approve in the console again.',
                    )
                  }
                >
                  <p>
                    <Theirs>{name}</Theirs> approves on devices only. Anyone signed in to the console as them will be
                    able to approve, until they turn this on again. Their devices stay paired: they can remove lost
                    ones.
                  </p>
                  <p>Confirm the user’s identity first: an attacker would ask for exactly this.</p>
                </Confirm>
              )}
              <Confirm
                opener="Disable"
                openerLabel={`Disable ${name}`}
                title="Disable this user?"
                verb="Disable"
                act={() =>
                  change(() => admin.users.disable(user.user_id), 'The user is disabled. No agent can act for them.')
                }
              >
                <p>
                  <Theirs>{name}</Theirs> will be signed out everywhere, and no agent can act for them until you enable
                  them again. Their connected accounts are kept.
                </p>
              </Confirm>
            </div>
          )}
          {user.status === 'disabled' && (
            <Confirm
              opener="Enable"
              openerLabel={`Enable ${name}`}
              title="Enable this user again?"
              look="plain"
              verb="Enable"
              act={() => change(() => admin.users.enable(user.user_id), 'The user is enabled and can sign in again.')}
            >
              <p>
                <Theirs>{name}</Theirs> can sign in again. Their connected accounts work again, and{' '}
                {user.active_grants === 0
                  ? 'they have no active grants.'
                  : `agents can act for them again with ${count(user.active_grants, 'active grant')}.`}
              </p>
              <p>
                {user.require_device_approval
                  ? 'Their devices can approve again.'
                  : 'Their devices can approve again once the user has confirmed them in the console.'}
              </p>
              <p>
                Sessions, sign-in links and pairing codes from before stay ended, and so do grants that have expired or
                been revoked.
              </p>
            </Confirm>
          )}
          {issued && <IssuedLink issued={issued} />}
        </div>
      </Card>
    </li>
  )
}
