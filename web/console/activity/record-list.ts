/** The records that are loaded, newest first: extended at the end by more pages, and at the top by what is new. */
import type { AuditPage, AuditRecord } from '@sallyport/sdk'

export interface RecordList {
  records: AuditRecord[]
  /** Where the next page of older records begins. Null at the end. */
  cursor: string | null
}

export function listOf({ records, next_cursor: cursor }: AuditPage): RecordList {
  return { records, cursor }
}

/** Adds a page that begins at the list's cursor. */
export function withOlder(list: RecordList, page: AuditPage): RecordList {
  return { records: [...list.records, ...page.records], cursor: page.next_cursor }
}

/** Whether these newest pages reach down to the list. Ids are in the order of the list. */
export function reaches(list: RecordList, pages: readonly AuditPage[]): boolean {
  const top = list.records[0]?.audit_id ?? list.cursor
  const end = pages.at(-1)?.next_cursor ?? null
  return end === null || (top !== null && end <= top)
}

/** Newest pages that reach down to the list. A record in both is in its newer form: it may have an outcome now. */
export function withNewest(list: RecordList, pages: readonly AuditPage[]): RecordList {
  const newest = pages.flatMap(({ records }) => records)
  const known = new Set(newest.map(({ audit_id: id }) => id))
  const last = newest.at(-1)?.audit_id
  const older = list.records.filter(({ audit_id: id }) => !known.has(id) && (last === undefined || id < last))
  return { records: [...newest, ...older], cursor: list.cursor }
}
