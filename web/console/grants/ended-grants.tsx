import { useInfiniteQuery } from '@tanstack/react-query'
import { Action } from '../../ui/action.tsx'
import { Loaded } from '../../ui/loading.tsx'
import { Empty } from '../../ui/view.tsx'
import { service } from '../service.ts'
import { GrantList } from './grant-list.tsx'

/** There may be many, so they are loaded page by page, newest first. */
export function EndedGrants({ status }: { status: 'expired' | 'revoked' }) {
  const query = useInfiniteQuery({
    queryKey: ['grants', status],
    queryFn: ({ pageParam: cursor, signal }) =>
      service.grants.list({ status, limit: 20, ...(cursor !== null && { cursor }) }, { signal }).page(),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })
  return (
    <Loaded query={query} shape="cards">
      {({ pages }) => {
        const grants = pages.flatMap((page) => page.grants)
        if (grants.length === 0 && !query.hasNextPage) return <Empty title={`No grants have ${endings[status]} yet`} />
        return (
          <div className="space-y-4">
            <GrantList grants={grants} />
            {query.hasNextPage && (
              <div className="text-center">
                <Action act={() => query.fetchNextPage()}>Show more</Action>
              </div>
            )}
          </div>
        )
      }}
    </Loaded>
  )
}

const endings = { expired: 'expired', revoked: 'been revoked' }
