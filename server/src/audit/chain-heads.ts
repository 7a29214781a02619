/**
 * Heads of chains. The service signs them: a head says how long a chain is, a stub how much of it retention has
 * deleted. The first record of a chain names the heads of the other chains, and how many records are on no chain.
 */
import { sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { hashText } from './audit-hash.ts'
import type { Head } from './audit-hash.ts'

export interface SignedHead extends Head {
  /** In milliseconds. */
  at: number
  signature: Uint8Array
}

type Kind = 'head' | 'stub'

export function signHead(kind: Kind, { chain, position, hash }: Head, time: Date, privateKey: KeyObject): SignedHead {
  const head = { chain, position, hash, at: time.getTime() }
  return { ...head, signature: sign(null, Buffer.from(signedText(kind, head)), privateKey) }
}

export function isSignedBy(publicKey: KeyObject, kind: Kind, head: SignedHead): boolean {
  return verify(null, Buffer.from(signedText(kind, head)), publicKey, head.signature)
}

function signedText(kind: Kind, head: Omit<SignedHead, 'signature'>): string {
  return `sallyport-audit-${kind}.v1.${nameOf(head)}.${head.at}`
}

/** A head as one line of text, to be kept where the service can't change it. */
export function headText(head: SignedHead): string {
  return `${signedText('head', head)}.${hashText(head.signature)}`
}

const headPattern =
  /^sallyport-audit-head\.v1\.(ch[ns]_[0-9a-z]{26})\.(\d{1,15})\.([\w-]{43})\.(\d{1,15})\.([\w-]{86})$/

export function readHeadText(text: string): SignedHead | undefined {
  const [, chain, position, hash, at, signature] = headPattern.exec(text.trim()) ?? []
  if (chain === undefined || hash === undefined || signature === undefined) return undefined
  return {
    chain,
    position: Number(position),
    hash: Buffer.from(hash, 'base64url'),
    at: Number(at),
    signature: Buffer.from(signature, 'base64url'),
  }
}

/** The heads that have changed since an earlier chain named them. */
export function headsToName(heads: readonly Head[], named: readonly Head[]): Head[] {
  const known = new Set(named.map(nameOf))
  return heads.filter((head) => !known.has(nameOf(head)))
}

export function startDetail(heads: readonly Head[], unchained: number): { heads: string[]; unchained: number } {
  return { heads: heads.map(nameOf), unchained }
}

export function nameOf({ chain, position, hash }: Head): string {
  return `${chain}.${position}.${hashText(hash)}`
}

/** The heads that a first record names. None if it was tampered with: verification finds that by its hash. */
export function namedHeads(detail: string): Head[] {
  const { heads } = read(detail)
  if (!Array.isArray(heads)) return []
  return heads.flatMap((name) => parseHead(String(name)) ?? [])
}

export function parseHead(name: string): Head | undefined {
  const [, chain, position, hash] = /^(ch[ns]_[0-9a-z]{26})\.(\d{1,15})\.([\w-]{43})$/.exec(name) ?? []
  if (chain === undefined || hash === undefined) return undefined
  return { chain, position: Number(position), hash: Buffer.from(hash, 'base64url') }
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
