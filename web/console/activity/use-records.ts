/** The list of records, kept current at its top. What is loaded below stays, whatever is new. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { AuditPage } from '@sallyport/sdk'
import { service } from '../service.ts'
import { queryOf } from './filters.ts'
import type { Filters } from './filters.ts'
import { listOf, reaches, withNewest, withOlder } from './record-list.ts'
import type { RecordList } from './record-list.ts'

const pageSize = 50
/** If more is new, the list begins anew. */
const mostNewPages = 4

export function useRecords(filters: Filters) {
  const queries = useQueryClient()
  const queryKey = ['activity', 'list', filters]
  const listNow = () => queries.getQueryData<RecordList>(queryKey)
  const read = (cursor: string | undefined, signal?: AbortSignal) =>
    service.audit
      .list({ ...queryOf(filters, Date.now()), ...(cursor && { cursor }), limit: pageSize }, { signal })
      .page()

  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }): Promise<RecordList> => {
      const pages: AuditPage[] = []
      const before = listNow()
      do pages.push(await read(pages.at(-1)?.next_cursor ?? undefined, signal))
      while (before && !reaches(before, pages) && pages.length < mostNewPages)
      const list = listNow()
      const [first] = pages as [AuditPage]
      return list && reaches(list, pages) ? withNewest(list, pages) : listOf(first)
    },
    // Keep showing the previous results while new filters load.
    placeholderData: (before) => before,
  })

  const showMore = async () => {
    const cursor = listNow()?.cursor
    if (!cursor) return
    const page = await read(cursor)
    const list = listNow()
    // It may have begun anew meanwhile.
    if (list?.cursor === cursor) queries.setQueryData(queryKey, withOlder(list, page))
  }
  return { query, showMore }
}
