/**
 * The hash chain: the hash of a record covers its chain, its position, its columns and the hash of the record before.
 */
import { createHmac, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/** The columns of a record besides its sequence, chain, position, hash and MAC. */
export interface RecordRow {
  audit_id: string
  event: string
  at: number
  request_id: string | null
  agent_id: string | null
  user_id: string | null
  grant_id: string | null
  connection_id: string | null
  provider: string | null
  outcome: string | null
  detail: string
}

/** The hash covers them in this order, which must never change. */
export const recordColumns = [
  'audit_id',
  'event',
  'at',
  'request_id',
  'agent_id',
  'user_id',
  'grant_id',
  'connection_id',
  'provider',
  'outcome',
  'detail',
] as const satisfies (keyof RecordRow)[]

/** `chs` chains have records that are kept for a shorter time. The name of a chain begins with its kind. */
export type ChainKind = 'chn' | 'chs'

export function chainKindOf({ chain }: Pick<Head, 'chain'>): ChainKind {
  return chain.startsWith('chs') ? 'chs' : 'chn'
}

/** The last known record of a chain. */
export interface Head {
  chain: string
  position: number
  hash: Uint8Array
}

/** The head of a chain before its first record. */
export function emptyChain(chain: string): Head {
  return { chain, position: 0, hash: new Uint8Array() }
}

/** JSON separates the members, so that different records never have the same text. Their order must never change. */
export function linked({ chain, position, hash: before }: Head, row: RecordRow): Head {
  const values = recordColumns.map((column) => row[column])
  const text = JSON.stringify(['sallyport.audit.v1', chain, position + 1, hashText(before), ...values])
  return { chain, position: position + 1, hash: hash('sha256', text, 'buffer') }
}

/**
 * Anyone can compute hashes, only the service a MAC. The one at the end of each commit covers all records before it.
 */
export function macOf(macKey: KeyObject, { hash: last }: Head): Buffer {
  return createHmac('sha256', macKey).update(last).digest()
}

export function hashText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}
