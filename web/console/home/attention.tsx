/** Accounts and grants that will stop working unless the user acts. */
import type { ReactNode } from 'react'
import type { Connection, Device, Grant } from '@sallyport/sdk'
import { Link } from 'wouter'
import { Ago } from '../../ui/time.tsx'
import { Section, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { endsSoon } from '../grants/describe-grant.ts'

interface AttentionProps {
  connections: Connection[]
  grants: Grant[]
  devices: Device[]
  now: number
}

export function Attention({ connections, grants, devices, now }: AttentionProps) {
  const stale = connections.filter(({ status }) => status === 'needs_reauth')
  const ending = grants.filter((grant) => endsSoon(grant, now))
  const unconfirmed = devices.filter(({ key }) => key?.enrolled === false)
  if (stale.length + ending.length + unconfirmed.length === 0) return null
  return (
    <Section title="Needs your attention">
      <ul className="divide-y divide-line rounded-xl border border-line bg-surface">
        {unconfirmed.length > 0 && (
          <Row href="/devices" action="View devices">
            {count(unconfirmed.length, 'paired device')} can’t approve until you confirm{' '}
            {unconfirmed.length === 1 ? 'it' : 'them'}.
          </Row>
        )}
        {stale.map(({ connection_id: id, provider_name: provider, account_label: label, auth_method: method }) => {
          const isEntered = method !== 'oauth2'
          return (
            <Row
              key={id}
              href={isEntered ? `/connections/${id}/credential` : '/connections'}
              action={isEntered ? 'Replace its credential' : 'Sign in again'}
            >
              <Theirs>{provider}</Theirs> no longer accepts {label === null ? 'your account' : <Theirs>{label}</Theirs>}
              . Agents can’t use it until you {isEntered ? 'replace its credential' : 'sign in again'}.
            </Row>
          )
        })}
        {ending.map(({ grant_id: id, agent, expires_at: end }) => (
          <Row key={id} href="/grants" action="View grant">
            Access for <Theirs>{agent.name}</Theirs> expires {end !== null && <Ago at={end} />}. It can ask again.
          </Row>
        ))}
      </ul>
    </Section>
  )
}

function Row({ href, action, children }: { href: string; action: string; children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-1 px-4 py-3 text-sm">
      <span className="min-w-0 grow basis-64">{children}</span>
      <Link href={href} className="font-semibold text-accent underline-offset-4 hover:underline">
        {action}
      </Link>
    </li>
  )
}
