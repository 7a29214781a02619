/** What an agent did, in plain language and with repeats collapsed. */
import { useQuery } from '@tanstack/react-query'
import type { ListAuditQuery } from '@sallyport/sdk'
import { Link } from 'wouter'
import { Loaded } from '../../ui/loading.tsx'
import { Section } from '../../ui/view.tsx'
import { RecordLine } from '../activity/record-line.tsx'
import { useNames } from '../activity/use-names.ts'
import { service } from '../service.ts'
import { collapseRecords } from './collapse-records.ts'

interface CallsOfProps {
  title: string
  /** Identifies the list. */
  name: string
  query: () => ListAuditQuery
  /** Refused calls alone, or all others. */
  refused?: boolean
  none: string
  /** The whole list. */
  address: string
}

const limit = 200

export function CallsOf({ title, name, query, refused = false, none, address }: CallsOfProps) {
  const names = useNames()
  const records = useQuery({
    queryKey: ['activity', 'of-agent', name],
    queryFn: ({ signal }) => service.audit.list({ ...query(), limit }, { signal }).page(),
  })
  return (
    <Section title={title}>
      <Loaded query={records} shape="rows">
        {({ records: all, next_cursor: more }) => {
          const lines = collapseRecords(
            all.filter(({ event, outcome }) => event.startsWith('proxy.') && (outcome === 'refused') === refused),
          )
          if (lines.length === 0) return <p className="text-sm text-quiet">{none}</p>
          return (
            <div className="rounded-xl border border-line bg-surface">
              <ul className="divide-y divide-line">
                {lines.map(({ record, count }) => (
                  <li key={record.audit_id} className="flex items-baseline gap-3 px-4 py-2.5">
                    <div className="min-w-0 grow">
                      <RecordLine record={record} names={names} />
                    </div>
                    {count > 1 && (
                      <span className="shrink-0 text-sm text-quiet tabular-nums">
                        <span aria-hidden="true">× {count.toLocaleString('en')}</span>
                        <span className="sr-only">{count.toLocaleString('en')} times</span>
                      </span>
                    )}
                  </li>
                ))}
              </ul>
              <p className="border-t border-line px-4 py-2.5 text-sm">
                {more !== null && <span className="text-quiet">Only the newest. </span>}
                <Link href={address} className="font-semibold text-accent underline-offset-4 hover:underline">
                  Show each call
                </Link>
              </p>
            </div>
          )
        }}
      </Loaded>
    </Section>
  )
}
