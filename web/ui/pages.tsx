/** A paginated list with a button to load more. */
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Action } from './action.tsx'
import { Loading, NotLoaded } from './loading.tsx'

interface PagesProps<Page, Item> {
  query: UseInfiniteQueryResult<InfiniteData<Page>>
  recordsOf: (page: Page) => Item[]
  empty: ReactNode
  /** Class of the list. */
  look?: string
  /** Renders one list item. */
  children: (item: Item) => ReactNode
}

export function Pages<Page, Item>({ query, recordsOf, empty, look = 'space-y-3', children }: PagesProps<Page, Item>) {
  if (query.isPending) return <Loading shape="rows" />
  if (!query.data) return <NotLoaded query={query} />
  const items = query.data.pages.flatMap(recordsOf)
  return (
    <>
      {items.length > 0 && <ul className={look}>{items.map(children)}</ul>}
      {items.length === 0 && !query.hasNextPage && empty}
      {items.length === 0 && query.hasNextPage && (
        <p className="py-4 text-center text-sm text-quiet">No matches so far. There is more to search.</p>
      )}
      {query.hasNextPage && (
        <div className="mt-4 text-center">
          <Action act={() => query.fetchNextPage()}>Show more</Action>
        </div>
      )}
    </>
  )
}
