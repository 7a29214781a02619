/** Shown if there is nothing to decide, or not any more. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import type { AccessRequest, Grant, User } from '@sallyport/sdk'
import { Action, buttonLook } from '../../ui/action.tsx'
import { useSay } from '../../ui/message.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { formatMoment } from '../../ui/time.tsx'
import { Card, Section, View, focusHeading } from '../../ui/view.tsx'
import { describeGrant } from '../grants/describe-grant.ts'
import { editorOf } from '../grants/change-grant.tsx'
import { Revoke } from '../grants/revoke.tsx'
import { useMutedAgents } from '../lists.ts'
import { service } from '../service.ts'
import { nameOf, useSignOut, useHasEnded } from '../session.ts'
import { Asked } from './asked.tsx'
import { sentence, termsOfGrant } from './describe-terms.ts'
import { Renew, RenewRequest } from './renew.tsx'
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
  const signOut = useSignOut()
  return (
    <View title={title}>
      <p className="max-w-prose">
        {children} You’re signed in as <bdi>{nameOf(user)}</bdi>; it may be meant for another user.
      </p>
      <Action act={() => signOut(() => service.auth.logout())}>Sign in as another user</Action>
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
      `It expired without a decision: ${at}. No access was granted. You can open it again, or the agent can ask again.`,
    ],
    cancelled: ['Cancelled by the agent', `The agent cancelled this request: ${at}. No access was granted.`],
    pending: ['', ''],
  }
  const [title, text] = told[status]
  return (
    <View title={title} lead={text}>
      {isMine && request.grant_id !== null ? (
        <GrantOf agentId={request.agent.agent_id} grantId={request.grant_id} />
      ) : (
        <Asked request={request} />
      )}
      {status === 'expired' && <RenewRequest request={request} />}
      {status === 'denied' && <Reconsider request={request} />}
      <Links isGranted={isMine && status === 'approved'} />
    </View>
  )
}

function GrantOf({ agentId, grantId }: { agentId: string; grantId: string }) {
  const grant = useQuery({
    queryKey: ['grants', 'of-agent', agentId],
    queryFn: ({ signal }) => service.grants.list({ agent_id: agentId, limit: 200 }, { signal }).all(),
    select: (grants) => grants.find(({ grant_id: id }) => id === grantId),
  })
  if (!grant.data) return null
  const { status } = grant.data
  return (
    <Card label="What you granted">
      <div className="space-y-3">
        <p className="text-lg leading-snug">
          <Sentence words={describeGrant(grant.data, formatMoment)} />
        </p>
        {status === 'active' ? (
          <Change grant={grant.data} />
        ) : (
          <>
            <p className="text-sm text-quiet">This access has ended.</p>
            <Renew grant={grant.data} />
          </>
        )}
      </div>
    </Card>
  )
}

export function Granted({ grant }: { grant: Grant }) {
  const queries = useQueryClient()
  // Revoked here or elsewhere meanwhile.
  const now = useQuery({
    queryKey: ['grants', 'granted', grant.grant_id],
    queryFn: () => latest(grant),
    initialData: grant,
  })
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ['access-requests'] })
  }, [queries])
  const isActive = now.data.status === 'active'
  return (
    <View title="Access granted">
      <Card label="What you granted">
        <div className="space-y-3">
          <p className="text-lg leading-snug">
            <Sentence words={sentence(grant.agent.name, labelOf(grant), termsOfGrant(grant, formatMoment))} />
          </p>
          {isActive ? (
            <Change grant={now.data} />
          ) : (
            <>
              <p className="font-medium text-warn">This access has ended.</p>
              <Renew grant={now.data} />
            </>
          )}
        </div>
      </Card>
      <p>The agent is notified automatically. You can close this page, and revoke the access at any time.</p>
      <Links isGranted />
    </View>
  )
}

function Change({ grant }: { grant: Grant }) {
  return (
    <div className="flex flex-wrap gap-2">
      <Revoke grant={grant} />
      <Link href={editorOf(grant)} className={buttonLook('plain')}>
        Tighten or edit
      </Link>
    </div>
  )
}

async function latest(grant: Grant): Promise<Grant> {
  const all = await service.grants.list({ agent_id: grant.agent.agent_id, limit: 200 }).all()
  return all.find(({ grant_id: id }) => id === grant.grant_id) ?? grant
}

export function Denied({ request, isBlocked }: { request: AccessRequest; isBlocked: boolean }) {
  return (
    <View
      title="Denied"
      lead={`No access was granted. You won’t be notified about this agent ${isBlocked ? 'again' : 'for a day'}.`}
    >
      <Asked request={request} />
      <Reconsider request={request} />
      <Links />
    </View>
  )
}

/**
 * After a denial. It is final, as the agent has been told. The user can open the request again as a new one, or hear
 * of the agent again when it asks.
 */
function Reconsider({ request }: { request: AccessRequest }) {
  const { agent_id: agentId } = request.agent
  const queries = useQueryClient()
  const { say } = useSay()
  const muted = useMutedAgents().data?.find(({ agent_id: id }) => id === agentId)
  const change = async (act: () => Promise<unknown>, text: string) => {
    await act()
    await queries.invalidateQueries({ queryKey: ['muted-agents'] })
    focusHeading()
    say(text)
  }
  return (
    <Section
      title="Changed your mind?"
      note="The agent has been told, so this denial stands. You can open the same request again, or hear of the agent when it asks."
    >
      <div className="flex flex-wrap gap-2">
        <RenewRequest request={request} />
        {muted && (
          <Action
            act={() =>
              change(() => service.mutedAgents.unmute(agentId), 'You’ll be notified when this agent asks again.')
            }
          >
            Let it ask again
          </Action>
        )}
        {muted?.blocked === false && (
          <Action
            look="danger"
            act={() => change(() => service.mutedAgents.block(agentId), 'You won’t hear of this agent again.')}
          >
            Block this agent
          </Action>
        )}
      </div>
    </Section>
  )
}

function Links({ isGranted = false }: { isGranted?: boolean }) {
  return (
    <div className="flex flex-wrap gap-2">
      {isGranted && (
        <Link href="/grants" className={buttonLook('main')}>
          View grants
        </Link>
      )}
      <Link href="/" className={buttonLook('plain')}>
        Back to Home
      </Link>
    </div>
  )
}
