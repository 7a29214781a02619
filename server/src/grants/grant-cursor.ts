/**
 * The cursor of a list of grants. A list has two parts: grants that were active when its first page was read, then the
 * rest.
 */
export interface GrantCursor {
  part: GrantListPart
  /** When the first page was read. */
  since: Date
  /** The last one of the page before. */
  grantId: string
}

export type GrantListPart = 'active' | 'ended'

export function cursorText({ part, since, grantId }: GrantCursor): string {
  return `${part}.${since.getTime()}.${grantId}`
}

/** Its form was checked by the schema. */
export function readCursor(text: string): GrantCursor {
  const [part, since, grantId = ''] = text.split('.')
  return { part: part === 'active' ? 'active' : 'ended', since: new Date(Number(since)), grantId }
}
