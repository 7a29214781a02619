/** Searches a list by words. They are compared here and not by the database, so what is read for one page is limited. */
import { matchesWords } from '@sallyport/protocol/search'
import { inBatches, rowsPerBatch } from './batches.ts'
import type { Page, PageRequest } from './paging.ts'

/** Read for one page at most: if few match, the search continues with the next page. */
const maxRead = 5_000

interface Search<T> {
  /** Empty or undefined: all. */
  query: string | undefined
  textOf: (record: T) => string
  idOf: (record: T) => string
}

/** A page can have fewer records than the limit, or none, before the end of the list. */
export async function searchPages<T, Status extends string>(
  list: (page: PageRequest<Status>) => Promise<Page<T>>,
  page: PageRequest<Status>,
  { query = '', textOf, idOf }: Search<T>,
): Promise<Page<T>> {
  if (query.trim() === '') return list(page)
  const found: T[] = []
  let cursor: string | null = page.before ?? null
  let read = 0
  await inBatches(async () => {
    const { records, nextCursor } = await list({ ...page, limit: rowsPerBatch, before: cursor ?? undefined })
    found.push(...records.filter((record) => matchesWords(textOf(record), query)))
    read += rowsPerBatch
    cursor = nextCursor
    return cursor !== null && found.length < page.limit && read < maxRead ? 'more' : 'done'
  })
  const records = found.slice(0, page.limit)
  const last = records.at(-1)
  if (found.length > page.limit && last !== undefined) return { records, nextCursor: idOf(last) }
  return { records, nextCursor: cursor }
}
