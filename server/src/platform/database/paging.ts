import { defaultPageSize } from '@sallyport/protocol/lists'

/** Lists run from the newest record to the oldest. Ids sort by time, so the last id of a page is the cursor. */
export interface PageRequest<Status extends string = string> {
  limit: number
  before: string | undefined
  status: Status | undefined
}

export interface Page<T> {
  records: T[]
  nextCursor: string | null
}

export function pageRequest<Status extends string>(query: {
  limit?: number
  cursor?: string
  status?: Status
}): PageRequest<Status> {
  return { limit: query.limit ?? defaultPageSize, before: query.cursor, status: query.status }
}

/** Expects one record more than the limit, if there is a next page. */
export function pageOf<T>(records: T[], limit: number, idOf: (record: T) => string): Page<T> {
  const page = records.slice(0, limit)
  const last = page.at(-1)
  return { records: page, nextCursor: records.length > limit && last !== undefined ? idOf(last) : null }
}
