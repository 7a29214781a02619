/** One grant: what it allows, how much it is used, and a button to revoke it. */
import type { ReactNode } from 'react'
import type { Grant } from '@sallyport/sdk'
import { Link } from 'wouter'
import { Action, buttonLook } from '../../ui/action.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { Ago, formatMoment, useNow } from '../../ui/time.tsx'
import { Badge, Card, Theirs } from '../../ui/view.tsx'
import { count } from '../../ui/words.ts'
import { Renew } from '../approve/renew.tsx'
import { modes } from '../approve/terms.ts'
import { ChangeGrant, useChangeGrant } from './change-grant.tsx'
import { describeGrant, endsSoon } from './describe-grant.ts'
import { Receipt } from './receipt.tsx'
import { Repeats } from './repeats.tsx'
import { Revoke } from './revoke.tsx'
import { UseFromTool } from './use-from-tool.tsx'
import { shownDays, useCallCounts } from './use-call-counts.ts'

export function GrantCard({ grant }: { grant: Grant }) {
  const { agent, calls, max_calls: most, last_used_at: lastUsed, created_at: since, status } = grant
  return (
    <Card>
      <div className="space-y-4">
        <div className="flex flex-wrap items-start justify-between gap-2">
          <h3 className="min-w-0 font-semibold">
            {grant.provider_name === null ? 'Sandbox' : <Theirs>{grant.provider_name}</Theirs>}
          </h3>
          <div className="flex flex-wrap gap-1">
            {grant.signed && <Badge>Signed by a device</Badge>}
            <State grant={grant} />
          </div>
        </div>
        <p>
          <Sentence words={describeGrant(grant, formatMoment)} />
        </p>
        <dl className="flex flex-wrap gap-x-8 gap-y-2 text-sm tabular-nums">
          <Figure name="When it calls">{modes[grant.mode]}</Figure>
          <Figure name="Calls">{most === null ? count(calls, 'call') : `${calls} of ${count(most, 'call')}`}</Figure>
          <Figure name="Last call">{lastUsed === null ? 'Never' : <Ago at={lastUsed} />}</Figure>
          <Figure name="Granted">
            <Ago at={since} />
          </Figure>
          <Figure name={`Last ${shownDays} days`}>
            <Calls grantId={grant.grant_id} />
          </Figure>
        </dl>
        {status === 'active' && <Repeats grant={grant} />}
        {status === 'active' && (
          <div>
            {grant.kind === 'connection' && <ChangeGrant grant={grant} />}
            <UseFromTool grant={grant} />
          </div>
        )}
        <div className="flex flex-wrap gap-2">
          {status === 'active' ? <Revoke grant={grant} /> : <Renew grant={grant} />}
          {status === 'active' && grant.expires_at !== null && <Extend grant={grant} end={grant.expires_at} />}
          <Link
            href={`/activity?grant_id=${grant.grant_id}`}
            className={buttonLook('bare')}
            aria-label={`Activity of ${agent.name}`}
          >
            Activity
          </Link>
          {grant.access_request_id !== null && <Receipt grant={grant} />}
        </div>
      </div>
    </Card>
  )
}

/** By a day from now, or from its end if that is later. */
function Extend({ grant, end }: { grant: Grant; end: string }) {
  const change = useChangeGrant(grant)
  const extend = () => {
    const until = new Date(Math.max(Date.now(), Date.parse(end)) + 86_400_000)
    return change({ expires_at: until.toISOString() }, 'The grant lasts a day longer.')
  }
  return (
    <Action act={extend} label={`Extend by a day: the access of ${grant.agent.name}`}>
      Extend by a day
    </Action>
  )
}

function Calls({ grantId }: { grantId: string }) {
  const { data } = useCallCounts()
  if (!data) return null
  const counts = data.get(grantId) ?? Array.from({ length: shownDays }, () => 0)
  const sum = counts.reduce((total, one) => total + one, 0)
  return <Sparkline counts={counts} label={`${count(sum, 'call')} in the last ${shownDays} days`} />
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-quiet">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function State({ grant }: { grant: Grant }) {
  const now = useNow()
  if (grant.status === 'revoked') return <Badge>Revoked</Badge>
  if (grant.status === 'expired') return <Badge>Expired</Badge>
  return endsSoon(grant, now) ? <Badge tone="warn">Expires soon</Badge> : <Badge tone="good">Active</Badge>
}
