import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Pages } from '../../ui/pages.tsx'
import { Empty } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { queryOf } from './filters.ts'
import type { Filters } from './filters.ts'
import { RecordLine } from './record-line.tsx'
import { useNames } from './use-names.ts'

export function Records({ filters }: { filters: Filters }) {
  const names = useNames()
  const records = useInfiniteQuery({
    queryKey: ['activity', 'list', filters],
    queryFn: ({ pageParam, signal }) =>
      service.audit.list({ ...queryOf(filters, Date.now()), ...pageParam, limit: 50 }, { signal }).page(),
    initialPageParam: {},
    getNextPageParam: ({ next_cursor: cursor }) => (cursor === null ? undefined : { cursor }),
    // Keep showing the previous results while new filters load.
    placeholderData: (before) => before,
  })
  return (
    <Pages
      query={records}
      look="divide-y divide-line rounded-xl border border-line bg-surface"
      recordsOf={(page) => page.records}
      empty={<Empty title="No activity">Nothing matches. Choose a longer time range or clear the filters.</Empty>}
    >
      {(record) => (
        <li key={record.audit_id}>
          <Link href={`/activity/${record.audit_id}`} className="block px-4 py-2.5 hover:bg-raised">
            <RecordLine record={record} names={names} />
          </Link>
        </li>
      )}
    </Pages>
  )
}
