/** The plaintexts of envelopes. Readers are strict and throw `Malformed` with the rule that was broken. */
import { fromBase64url } from './base64url.ts'
import { version } from './envelope.ts'
import { Malformed } from './malformed.ts'
import { literal, membersOf, textOf, timeOf, uuidOf } from './members.ts'
import { normalizeNamespace } from './namespace.ts'

export const challengePurpose = 'authai.operation'
export const nonceBytes = 32
export const maxEntries = 100
export const maxValueBytes = 64 * 1024
export const maxItemMetadataBytes = 4096
export const maxKeyLength = 256

export const actions = ['authai.refresh', 'authai.rotate_key', 'kv.save', 'kv.read'] as const
export type Action = (typeof actions)[number]

/** Plaintext of challenge_for_client. */
export interface ChallengePayload {
  v: typeof version
  type: 'challenge'
  purpose: typeof challengePurpose
  client_uuid: string
  challenge_id: string
  nonce: string
  issued_at: string
  expires_at: string
}

/** Plaintext of auth_envelope. */
export interface AuthPayload {
  v: typeof version
  type: 'auth'
  action: Action
  client_uuid: string
  challenge_id: string
  request_id: string
  nonce: string
  issued_at: string
  expires_at: string
}

export interface Item {
  key: string
  value: unknown
  metadata?: Record<string, unknown>
}

/** Plaintext of data_envelope. */
export interface SavePayload {
  v: typeof version
  type: 'kv.save'
  namespace: string
  items: Item[]
}

/** Plaintext of query_envelope. */
export interface QueryPayload {
  v: typeof version
  type: 'kv.read'
  namespace: string
  keys: string[]
}

/** Plaintext of result_envelope. */
export interface ResultPayload {
  v: typeof version
  type: 'kv.read.result'
  namespace: string
  items: { key: string; value: unknown; metadata: Record<string, unknown>; updated_at: string }[]
  missing: string[]
}

/** A parsed authentication payload. The service verifies it. */
export interface Auth {
  /** Any text. An unknown action matches no endpoint. */
  action: string
  clientUuid: string
  challengeId: string
  /** As sent: result_proof is computed from it. */
  requestId: string
  nonce: Uint8Array<ArrayBuffer>
  issuedAt: Date
  expiresAt: Date
}

export function readAuthPayload(value: unknown): Auth {
  const ids = ['client_uuid', 'challenge_id', 'request_id']
  const members = membersOf('auth', value, ['v', 'type', 'action', ...ids, 'nonce', 'issued_at', 'expires_at'], [])
  literal('v', members['v'], version)
  literal('type', members['type'], 'auth')
  const auth = {
    action: textOf('action', members['action'], 100),
    clientUuid: uuidOf('client_uuid', members['client_uuid']).toLowerCase(),
    challengeId: uuidOf('challenge_id', members['challenge_id']).toLowerCase(),
    requestId: uuidOf('request_id', members['request_id']),
    nonce: nonceOf(members['nonce']),
    issuedAt: timeOf('issued_at', members['issued_at']),
    expiresAt: timeOf('expires_at', members['expires_at']),
  }
  if (auth.issuedAt > auth.expiresAt) throw new Malformed('expires_at: before issued_at')
  return auth
}

/** Parses the plaintext of challenge_for_client. */
export function readChallengePayload(value: unknown): ChallengePayload {
  const names = ['v', 'type', 'purpose', 'client_uuid', 'challenge_id', 'nonce', 'issued_at', 'expires_at']
  const members = membersOf('challenge', value, names, [])
  literal('v', members['v'], version)
  literal('type', members['type'], 'challenge')
  literal('purpose', members['purpose'], challengePurpose)
  uuidOf('client_uuid', members['client_uuid'])
  uuidOf('challenge_id', members['challenge_id'])
  nonceOf(members['nonce'])
  timeOf('issued_at', members['issued_at'])
  timeOf('expires_at', members['expires_at'])
  return members as unknown as ChallengePayload
}

/** Returns a normalized namespace, and an empty object for missing `metadata`. */
export function readSavePayload(value: unknown): { namespace: string; items: Required<Item>[] } {
  const members = membersOf('kv.save', value, ['v', 'type', 'namespace', 'items'], [])
  literal('v', members['v'], version)
  literal('type', members['type'], 'kv.save')
  const items = entriesOf('items', members['items']).map(itemOf)
  assertDistinct(items.map(({ key }) => key))
  return { namespace: normalizeNamespace(members['namespace']), items }
}

/** Returns a normalized namespace. */
export function readQueryPayload(value: unknown): { namespace: string; keys: string[] } {
  const members = membersOf('kv.read', value, ['v', 'type', 'namespace', 'keys'], [])
  literal('v', members['v'], version)
  literal('type', members['type'], 'kv.read')
  const keys = entriesOf('keys', members['keys']).map((key) => textOf('key', key, maxKeyLength))
  assertDistinct(keys)
  return { namespace: normalizeNamespace(members['namespace']), keys }
}

/** Parses the plaintext of result_envelope. */
export function readResultPayload(value: unknown): ResultPayload {
  const members = membersOf('kv.read.result', value, ['v', 'type', 'namespace', 'items', 'missing'], [])
  literal('v', members['v'], version)
  literal('type', members['type'], 'kv.read.result')
  normalizeNamespace(members['namespace'])
  const { items, missing } = members
  if (!Array.isArray(items) || !Array.isArray(missing)) throw new Malformed('items: no list')
  for (const item of items) membersOf('item', item, ['key', 'value', 'metadata', 'updated_at'], [])
  return members as unknown as ResultPayload
}

function itemOf(value: unknown): Required<Item> {
  const members = membersOf('item', value, ['key', 'value'], ['metadata'])
  const { metadata = {} } = members
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    throw new Malformed('metadata: no object')
  }
  assertFits('value', members['value'], maxValueBytes)
  assertFits('metadata', metadata, maxItemMetadataBytes)
  return {
    key: textOf('key', members['key'], maxKeyLength),
    value: members['value'],
    metadata: metadata as Record<string, unknown>,
  }
}

function entriesOf(what: string, value: unknown): unknown[] {
  if (Array.isArray(value) && value.length >= 1 && value.length <= maxEntries) return value as unknown[]
  throw new Malformed(`${what}: not 1 to ${maxEntries} entries`)
}

/** It would be unclear which of two values counts. */
function assertDistinct(keys: readonly string[]): void {
  if (new Set(keys).size !== keys.length) throw new Malformed('key: twice the same')
}

function assertFits(what: string, value: unknown, maxBytes: number): void {
  const { length } = new TextEncoder().encode(JSON.stringify(value))
  if (length > maxBytes) throw new Malformed(`${what}: more than ${maxBytes} bytes of JSON`)
}

function nonceOf(value: unknown): Uint8Array<ArrayBuffer> {
  const nonce = typeof value === 'string' ? fromBase64url(value) : undefined
  if (nonce?.length !== nonceBytes) throw new Malformed(`nonce: not ${nonceBytes} bytes in base64url`)
  return nonce
}
