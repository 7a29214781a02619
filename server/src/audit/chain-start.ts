/** What the first record of a chain says: where the chains before it stood, and how many records hang on none. */
import { hashText } from './audit-hash.ts'
import type { Head } from './audit-hash.ts'

/** Those that have moved since they were last named; the others are spoken for by whoever named them. */
export function headsToName(heads: readonly Head[], named: readonly Head[]): Head[] {
  const known = new Set(named.map(nameOf))
  return heads.filter((head) => !known.has(nameOf(head)))
}

export function startDetail(heads: readonly Head[], unchained: number): { heads: string[]; unchained: number } {
  return { heads: heads.map(nameOf), unchained }
}

function nameOf({ chain, position, hash }: Head): string {
  return `${chain}.${position}.${hashText(hash)}`
}

/** The heads that a first record names. What can't be read names none: verify finds it by its hash. */
export function namedHeads(detail: string): Head[] {
  const { heads } = read(detail)
  if (!Array.isArray(heads)) return []
  return heads.flatMap((name) => {
    const [, chain, position, hash] = /^(ch[ns]_[0-9a-z]{26})\.(\d{1,15})\.([\w-]{43})$/.exec(String(name)) ?? []
    if (chain === undefined || hash === undefined) return []
    return [{ chain, position: Number(position), hash: Buffer.from(hash, 'base64url') }]
  })
}

export function namedUnchained(detail: string): number | undefined {
  const { unchained } = read(detail)
  return typeof unchained === 'number' ? unchained : undefined
}

function read(detail: string): { heads?: unknown; unchained?: unknown } {
  try {
    return (JSON.parse(detail) ?? {}) as object
  } catch {
    return {}
  }
}
