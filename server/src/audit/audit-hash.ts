/** How records hang together: the hash of each covers its chain, its place there, all it says and the hash before it. */
import { createHmac, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/** A record as it is stored, beside its sequence, chain and hash. */
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

/** Its columns. */
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

/** In the order of the columns, one by one: it is the hottest of all writes. */
export function recordValues(row: RecordRow): unknown[] {
  return [
    row.audit_id,
    row.event,
    row.at,
    row.request_id,
    row.agent_id,
    row.user_id,
    row.grant_id,
    row.connection_id,
    row.provider,
    row.outcome,
    row.detail,
  ]
}

/** `chs` chains have records that are kept for a shorter time. The name of a chain begins with its kind. */
export type ChainKind = 'chn' | 'chs'

export function chainKindOf({ chain }: Pick<Head, 'chain'>): ChainKind {
  return chain.startsWith('chs') ? 'chs' : 'chn'
}

/** The last record of a chain as far as somebody knows it. */
export interface Head {
  chain: string
  position: number
  hash: Uint8Array
}

/** Where the next record goes on; a new chain goes on from here too. */
export function emptyChain(chain: string): Head {
  return { chain, position: 0, hash: new Uint8Array() }
}

/**
 * JSON sets the members off from each other, so that none can lend characters to its neighbour. Their order is a part of
 * the hash, and stays.
 */
export function linked({ chain, position, hash: before }: Head, row: RecordRow): Head {
  const text = JSON.stringify(['sallyport.audit.v1', chain, position + 1, hashText(before), ...recordValues(row)])
  return { chain, position: position + 1, hash: hash('sha256', text, 'buffer') }
}

/** Only the service can make it. Hashes anybody can; one of these at the end of each commit covers all before it. */
export function macOf(macKey: KeyObject, { hash: last }: Head): Buffer {
  return createHmac('sha256', macKey).update(last).digest()
}

export function hashText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}
