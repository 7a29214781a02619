import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Loading } from '../../ui/loading.tsx'
import { Moment } from '../../ui/time.tsx'
import { Section, View } from '../../ui/view.tsx'
import { aboutUser, nameOf, useMe } from '../session.ts'
import { Mail } from './mail.tsx'
import { Sandbox } from './sandbox.tsx'
import { Sessions } from './sessions.tsx'

export function Account() {
  const { data: user } = useMe()
  if (!user) return <Loading shape="view" />
  const about = aboutUser(user)
  return (
    <View
      title="Account"
      lead={
        <>
          Signed in as <bdi className="font-semibold text-ink">{nameOf(user)}</bdi>
          {about && (
            <>
              , <bdi>{about}</bdi>
            </>
          )}
          , member since <Moment at={user.created_at} />.
        </>
      }
    >
      <Sessions />
      <Mail />
      <Sandbox />
      <Section title="More">
        <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
          <Elsewhere href="/authenticator" name="Authenticator" isOutside>
            Open it on your phone to be notified of requests and to sign your decisions. Pair it under{' '}
            <Link href="/devices" className="text-accent underline">
              Devices
            </Link>
            .
          </Elsewhere>
          <Elsewhere href="/docs" name="API reference" isOutside>
            Every endpoint of the service, for developers of agents and programs.
          </Elsewhere>
          <Elsewhere href="/admin" name="Admin">
            For administrators who have the admin token.
          </Elsewhere>
        </ul>
      </Section>
    </View>
  )
}

interface ElsewhereProps {
  href: string
  name: string
  /** Not a view of the console: a normal link. */
  isOutside?: boolean
  children: ReactNode
}

function Elsewhere({ href, name, isOutside = false, children }: ElsewhereProps) {
  const look = 'font-semibold text-accent underline-offset-4 hover:underline'
  return (
    <li className="space-y-0.5 px-4 py-3 sm:px-5">
      {isOutside ? (
        <a href={href} className={look}>
          {name}
        </a>
      ) : (
        <Link href={href} className={look}>
          {name}
        </Link>
      )}
      <p className="text-sm text-quiet">{children}</p>
    </li>
  )
}
