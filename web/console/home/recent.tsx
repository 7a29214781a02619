import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Loaded } from '../../ui/loading.tsx'
import { Section } from '../../ui/view.tsx'
import { RecordLine } from '../activity/record-line.tsx'
import { useNames } from '../activity/use-names.ts'
import { service } from '../service.ts'

const shown = 8
/** Background events that are not shown here. */
const background = new Set(['connection.refreshed', 'callback.delivered', 'pairing_code.issued'])

/** The newest records, and what they name. */
export function useRecent() {
  const names = useNames()
  const records = useQuery({
    queryKey: ['activity', 'recent'],
    queryFn: async ({ signal }) => {
      const page = await service.audit.list({ limit: 4 * shown }, { signal }).page()
      return page.records.filter(({ event }) => !background.has(event)).slice(0, shown)
    },
  })
  return { names, records }
}

export function Recent() {
  const { names, records } = useRecent()
  return (
    <Section title="Recent activity">
      <Loaded query={records} shape="rows">
        {(recent) =>
          recent.length === 0 ? (
            <p className="text-sm text-quiet">Nothing yet. What agents do with your accounts will appear here.</p>
          ) : (
            <div className="rounded-xl border border-line bg-surface">
              <ul className="divide-y divide-line">
                {recent.map((record) => (
                  <li key={record.audit_id} className="px-4 py-2.5">
                    <RecordLine record={record} names={names} />
                  </li>
                ))}
              </ul>
              <p className="border-t border-line px-4 py-2.5 text-sm">
                <Link href="/activity" className="font-semibold text-accent underline-offset-4 hover:underline">
                  All activity
                </Link>
              </p>
            </div>
          )
        }
      </Loaded>
    </Section>
  )
}
