/** Shown if there is nothing to decide, or not any more. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { AccessRequest, Grant, User } from '@sallyport/sdk'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { Card, View } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { nameOf, useForgetEverything, useHasEnded } from '../session.ts'
import { sentence, termsOfGrant } from './describe-terms.ts'
import { labelOf } from './terms.ts'

/** `id`: of the request or call to come back to. */
export function SignedOut({ id, children }: { id: string; children: string }) {
  const hasEnded = useHasEnded()
  return (
    <View title={hasEnded ? 'Your session has ended' : 'Sign in to decide'}>
      <p className="max-w-prose">{children}</p>
      <Link href={`/?${new URLSearchParams({ decide: id })}`} className={buttonLook('main')}>
        Sign in
      </Link>
    </View>
  )
}

export function NotFound({ user, title, children }: { user: User; title: string; children: string }) {
  const forgetEverything = useForgetEverything()
  return (
    <View title={title}>
      <p className="max-w-prose">
        {children} You’re signed in as <bdi>{nameOf(user)}</bdi>; it may be meant for another user.
      </p>
      <Action
        act={async () => {
          await service.auth.logout()
          await forgetEverything(null)
        }}
      >
        Sign in as another user
      </Action>
    </View>
  )
}

export function Settled({ user, request }: { user: User; request: AccessRequest }) {
  const { status, decided_at: decidedAt, expires_at: expiresAt, approved_by: approvedBy } = request
  const isMine = approvedBy === user.user_id
  const at = formatMoment(decidedAt ?? expiresAt)
  const told: Record<AccessRequest['status'], [title: string, text: string]> = {
    approved: [
      'Already approved',
      isMine ? `You approved this request: ${at}.` : `Another user approved this request: ${at}.`,
    ],
    denied: ['Already denied', `This request was denied: ${at}. No access was granted.`],
    expired: [
      'This request has expired',
      `It expired without a decision: ${at}. No access was granted; the agent can ask again.`,
    ],
    cancelled: ['Cancelled by the agent', `The agent cancelled this request: ${at}. No access was granted.`],
    pending: ['', ''],
  }
  const [title, text] = told[status]
  return (
    <View title={title} lead={text}>
      {isMine && status === 'approved' ? <Revoking /> : <ToHome />}
    </View>
  )
}

export function Granted({ grant }: { grant: Grant }) {
  return (
    <View title="Access granted">
      <Card label="What you granted">
        <p className="text-lg">
          <Sentence words={sentence(grant.agent.name, labelOf(grant), termsOfGrant(grant, formatMoment))} />
        </p>
      </Card>
      <p>The agent is notified automatically. You can close this page.</p>
      <Revoking />
    </View>
  )
}

export function Denied({ isBlocked }: { isBlocked: boolean }) {
  return (
    <View
      title="Denied"
      lead={`No access was granted. You won’t be notified about this agent ${isBlocked ? 'again' : 'for a day'}.`}
    >
      <p>
        You can change that under{' '}
        <Link href="/devices" className="text-accent underline">
          Devices
        </Link>
        . You can close this page.
      </p>
      <ToHome />
    </View>
  )
}

function Revoking() {
  return (
    <>
      <p>You can revoke it at any time. Calls after that are refused.</p>
      <Links>
        <Link href="/grants" className={buttonLook('main')}>
          View grants
        </Link>
        <Link href="/" className={buttonLook('plain')}>
          Back to Home
        </Link>
      </Links>
    </>
  )
}

function ToHome() {
  return (
    <Links>
      <Link href="/" className={buttonLook('plain')}>
        Back to Home
      </Link>
    </Links>
  )
}

function Links({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap gap-2">{children}</div>
}
