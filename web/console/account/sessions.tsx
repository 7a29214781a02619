import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { useLocation } from 'wouter'
import type { Session } from '@sallyport/sdk'
import { Action } from '../../ui/action.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { useSay } from '../../ui/message.tsx'
import { Ago, formatMoment, Moment } from '../../ui/time.tsx'
import { Badge, Section } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { useSignOut } from '../session.ts'

export function Sessions() {
  const { say } = useSay()
  const queries = useQueryClient()
  const heading = useRef<HTMLHeadingElement>(null)
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: async () => {
      const all = await service.sessions.list({ status: 'active', limit: 200 }).all()
      return all.sort((a, b) => Number(b.current) - Number(a.current))
    },
  })
  const end = async ({ session_id: id, created_at: since }: Session) => {
    await service.sessions.revoke(id)
    await queries.invalidateQueries({ queryKey: ['sessions'] })
    heading.current?.focus()
    say(`The session from ${formatMoment(since)} was ended.`)
  }
  return (
    <Section
      title="Your sessions"
      headingRef={heading}
      note={`Times are in ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`}
    >
      <Loaded query={sessions} shape="rows">
        {(all) => (
          <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
            {all.map((session) => (
              <SessionRow key={session.session_id} session={session} end={() => end(session)} />
            ))}
          </ul>
        )}
      </Loaded>
      <SignOut />
    </Section>
  )
}

function SessionRow({ session, end }: { session: Session; end: () => Promise<void> }) {
  const { created_at: since, last_seen_at: seen, expires_at: until, current } = session
  return (
    <li className="flex min-h-16 flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3 sm:px-5">
      <dl className="flex flex-wrap gap-x-8 gap-y-1 text-sm [&_dt]:text-quiet">
        <div>
          <dt>Started</dt>
          <dd>
            <Moment at={since} />
          </dd>
        </div>
        <div>
          <dt>Last seen</dt>
          <dd>
            <Ago at={seen} />
          </dd>
        </div>
        <div>
          <dt>Expires</dt>
          <dd>
            <Moment at={until} />
          </dd>
        </div>
      </dl>
      {current ? (
        <Badge tone="good">This session</Badge>
      ) : (
        <Action act={end} label={`End the session from ${formatMoment(since)}`}>
          End
        </Action>
      )}
    </li>
  )
}

function SignOut() {
  const { say } = useSay()
  const signOut = useSignOut()
  const [, navigate] = useLocation()
  const leave = async (end: () => Promise<unknown>, text: string) => {
    // In this order: otherwise the current view would fetch data without a session.
    await signOut(end)
    navigate('/')
    say(text)
  }
  return (
    <div className="flex flex-wrap gap-2">
      <Action act={() => leave(() => service.auth.logout(), 'You’re signed out.')}>Sign out</Action>
      <Confirm
        opener="Sign out everywhere"
        title="Sign out everywhere?"
        verb="End all sessions"
        act={() => leave(() => service.auth.logoutAll(), 'You’re signed out everywhere.')}
      >
        <p>This ends every session in the list, including this one. You’ll need a new link to sign in again.</p>
      </Confirm>
    </div>
  )
}
