/** Where a list of grants goes on. Lists have two parts: the grants that were active when its first page was read, then the rest. */
export interface GrantCursor {
  part: GrantListPart
  /** When the first page was read. */
  since: Date
  /** The last one seen. */
  grantId: string
}

export type GrantListPart = 'active' | 'ended'

export function cursorText({ part, since, grantId }: GrantCursor): string {
  return `${part}.${since.getTime()}.${grantId}`
}

/** The schema has judged its form. */
export function readCursor(text: string): GrantCursor {
  const [part, since, grantId = ''] = text.split('.')
  return { part: part === 'active' ? 'active' : 'ended', since: new Date(Number(since)), grantId }
}
