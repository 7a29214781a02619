/** One record in plain words, and as it is stored. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { ReactNode } from 'react'
import type { AuditRecord } from '@sallyport/sdk'
import { CopyBox } from '../../ui/copy-box.tsx'
import { Fact, Facts } from '../../ui/facts.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { ExactMoment } from '../../ui/time.tsx'
import { Card, Section, View } from '../../ui/view.tsx'
import { theirs } from '../../ui/words.ts'
import type { Words } from '../../ui/words.ts'
import { useNewestGrants } from '../lists.ts'
import { service } from '../service.ts'
import { describeRecord } from './describe-record.ts'
import { outcomes } from './filters.ts'
import { durationOf, factsOf } from './record-facts.ts'
import { useNames } from './use-names.ts'

export function OneRecord({ id }: { id: string }) {
  const record = useQuery({
    queryKey: ['activity', 'one', id],
    queryFn: ({ signal }) => service.audit.get(id, { signal }),
  })
  return (
    <View
      title={record.data?.event.startsWith('proxy.') ? 'Call details' : 'Activity details'}
      actions={
        <Link href="/activity" className="font-semibold text-accent">
          All activity
        </Link>
      }
    >
      <Loaded query={record} shape="cards">
        {(found) => <Whole record={found} />}
      </Loaded>
    </View>
  )
}

function Whole({ record }: { record: AuditRecord }) {
  const names = useNames()
  const { outcome, result, door } = record
  const duration = durationOf(record)
  const isError = outcome === 'answered' && Number(result?.['status']) >= 400
  return (
    <>
      <Card>
        <div className="space-y-4">
          <p className="text-lg">
            <Sentence words={describeRecord(record, names)} />
          </p>
          <Facts>
            <Fact name="Time">
              <ExactMoment at={record.at} />
            </Fact>
            {duration && <Fact name="Duration">{duration}</Fact>}
            {outcome && (
              <Fact name="Outcome">{isError ? 'Answered, with an error of the host' : outcomes[outcome]}</Fact>
            )}
            <OfWhom record={record} />
            {door && <Fact name="Called through">{doors[door]}</Fact>}
            {factsOf(record).map(({ name, text }) => (
              <Fact key={name} name={name}>
                <bdi className="wrap-anywhere">{text}</bdi>
              </Fact>
            ))}
          </Facts>
        </div>
      </Card>
      {record.hops.length > 0 && (
        <Section title="What followed">
          <ol className="divide-y divide-line rounded-xl border border-line bg-surface">
            {record.hops.map((hop, index) => (
              <li key={`${hop.at} ${index}`} className="px-4 py-2.5 text-sm">
                <Sentence words={describeHop(hop)} />
              </li>
            ))}
          </ol>
        </Section>
      )}
      <details className="group">
        <summary className="w-fit text-sm font-semibold text-accent">The record as it is stored</summary>
        <div className="mt-3">
          <CopyBox label="The record as JSON" text={JSON.stringify(record, null, 2)} copies="Copy the record" />
        </div>
      </details>
    </>
  )
}

const doors = {
  proxy: 'The API of this service',
  base_url: 'A base URL, by a tool',
  gateway: 'The gateway, by a tool',
} as const satisfies Record<NonNullable<AuditRecord['door']>, string>

function OfWhom({ record }: { record: AuditRecord }) {
  const names = useNames()
  const { data: grants } = useNewestGrants()
  const { agent_id: agentId, agent_name: agentName, grant_id: grantId, connection_id: accountId, provider } = record
  const grant = grants?.find(({ grant_id: id }) => id === grantId)
  const account = accountId === null ? undefined : names.account(accountId)
  const { call_id: callId } = record.detail
  return (
    <>
      {agentId && (
        <Fact name="Agent">
          <To path={`/agents/${agentId}`}>{agentName ?? agentId}</To>
        </Fact>
      )}
      {account && (
        <Fact name="Account">
          <bdi>{account.label === null ? account.provider : `${account.label} at ${account.provider}`}</bdi>
        </Fact>
      )}
      {!account && provider && (
        <Fact name="Provider">
          <bdi>{names.provider(provider) ?? provider}</bdi>
        </Fact>
      )}
      {grantId && (
        <Fact name="Grant">
          <To path={`/activity?grant_id=${grantId}`}>
            {grant ? `${grant.agent.name}, ${grant.provider_name ?? 'sandbox'}` : 'All that was done with it'}
          </To>
        </Fact>
      )}
      {typeof callId === 'string' && (
        <Fact name="Approval">
          <To path={`/approve-call/${callId}`}>The call that waited for you</To>
        </Fact>
      )}
    </>
  )
}

function To({ path, children }: { path: string; children: ReactNode }) {
  return (
    <Link href={path} className="text-accent underline">
      <bdi>{children}</bdi>
    </Link>
  )
}

/** Another request of the same call. */
function describeHop({ detail: { why, method, host, path } }: AuditRecord['hops'][number]): Words {
  const place = theirs(`${String(host)}${typeof path === 'string' ? path : ''}`)
  if (why === 'token_renewed') return ['It was repeated with a new token: ', String(method), ' ', place]
  return ['It followed a redirect: ', String(method), ' ', place]
}
