/** All details of one record. */
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { AuditRecord } from '@sallyport/sdk'
import { Fact, Facts } from '../../ui/facts.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Moment } from '../../ui/time.tsx'
import { Card, Section, View } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { describeRecord } from './describe-record.ts'
import { outcomes } from './filters.ts'
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
      <Loaded query={record}>{(found) => <Whole record={found} />}</Loaded>
    </View>
  )
}

function Whole({ record }: { record: AuditRecord }) {
  const names = useNames()
  const { outcome, grant_id: grantId, agent_id: agentId } = record
  return (
    <>
      <Card>
        <div className="space-y-4">
          <p className="text-lg">
            <Sentence words={describeRecord(record, names)} />
          </p>
          <Facts>
            <Fact name="Time">
              <Moment at={record.at} />
            </Fact>
            {record.concluded_at && (
              <Fact name="Duration">{Date.parse(record.concluded_at) - Date.parse(record.at)} ms</Fact>
            )}
            {outcome && <Fact name="Outcome">{outcomes[outcome]}</Fact>}
            {record.door && <Fact name="Called through">{doors[record.door]}</Fact>}
            {agentId && (
              <Fact name="Agent">
                <Link href={`/activity?agent_id=${agentId}`} className="text-accent underline">
                  <bdi>{record.agent_name ?? agentId}</bdi>
                </Link>
              </Fact>
            )}
            {grantId && (
              <Fact name="Grant">
                <Link href={`/activity?grant_id=${grantId}`} className="font-mono text-xs text-accent underline">
                  {grantId}
                </Link>
              </Fact>
            )}
            {record.provider && (
              <Fact name="Provider">
                <bdi>{record.provider}</bdi>
              </Fact>
            )}
            <Fact name="Record">
              <code className="font-mono text-xs">{record.audit_id}</code>
            </Fact>
            {record.request_id && (
              <Fact name="Request">
                <code className="font-mono text-xs">{record.request_id}</code>
              </Fact>
            )}
          </Facts>
        </div>
      </Card>
      <Details title="Details" facts={record.detail} />
      {record.result && <Details title="Result" facts={record.result} />}
      {record.hops.map(({ at, detail }, index) => (
        <Details key={`${at} ${index}`} title="Follow-up request" facts={detail} />
      ))}
    </>
  )
}

const doors = {
  proxy: 'POST /v4/proxy',
  base_url: 'A base URL',
  gateway: 'The gateway',
} as const satisfies Record<NonNullable<AuditRecord['door']>, string>

function Details({ title, facts }: { title: string; facts: Record<string, unknown> }) {
  if (Object.keys(facts).length === 0) return null
  return (
    <Section title={title}>
      <Card>
        <Facts>
          {Object.entries(facts).map(([name, value]) => (
            <Fact key={name} name={name.replaceAll('_', ' ')}>
              <bdi className="font-mono text-xs wrap-anywhere">{textOf(value)}</bdi>
            </Fact>
          ))}
        </Facts>
      </Card>
    </Section>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
