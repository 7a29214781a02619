/** The first record of a chain names the heads of the other chains, and how many records are on no chain. */
import { hashText } from './audit-hash.ts'
import type { Head } from './audit-hash.ts'

/** The heads that have changed since an earlier chain named them. */
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

/** The heads that a first record names. None if it was tampered with: verification finds that by its hash. */
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
