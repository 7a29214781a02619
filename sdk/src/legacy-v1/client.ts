import { exchangeWith } from './exchange.ts'
import type { ClientKey } from './keys.ts'
import { readOperation, refreshOperation, rotateOperation, saveOperation } from './operations.ts'
import { inTurn, startSession } from './session.ts'
import type { Session } from './session.ts'

export interface LegacyClientOptions {
  /** Where the service is, or whoever relays to it. */
  baseUrl: string
  /**
   * `SHA256:…` of the service's key, as its operator told it: never from an answer of the service itself. While the service
   * changes its key, name the old one and the new one.
   */
  serviceKeyFingerprint: string | readonly string[]
  /** Made once by `generateClientKey` and kept; whoever has it is this client. */
  key: ClientKey
  keyId?: string
  label?: string
  metadata?: Record<string, unknown>
  /** How long an answer may take. 30 000 unless said otherwise. */
  timeoutMs?: number
  /** In place of the runtime's own. */
  fetch?: typeof globalThis.fetch
}

export interface AboutKey {
  keyId?: string
  label?: string
  metadata?: Record<string, unknown>
}

export interface Item {
  key: string
  /** Anything that JSON can say. */
  value: unknown
  metadata?: Record<string, unknown>
}

export interface ReadItem {
  key: string
  value: unknown
  metadata: Record<string, unknown>
  updatedAt: string
}

export interface ReadResult {
  /** As the service normalised it. */
  namespace: string
  items: ReadItem[]
  /** The keys that nothing is saved under. */
  missing: string[]
}

/**
 * A client of the legacy protocol. Calls are made one after the other, each with the challenge that the one before
 * brought; a first call, or one after a pause, registers by itself. Where an answer got lost, the client registers
 * again and repeats the call: a save may then have happened twice, with the same outcome.
 */
export interface LegacyClient {
  /** Resolves to this client's `client_uuid`, which stays the same for good. */
  register: () => Promise<string>
  /** Exchanges the challenge for a new one. */
  refresh: () => Promise<void>
  /**
   * Puts another key in place, and reads with it, so that the service proves that it is. Keep the new one before, and
   * the old one until this is done.
   */
  rotate: (newKey: ClientKey, about?: AboutKey) => Promise<void>
  /** All items or none. Resolves to how many were saved. */
  save: (namespace: string, items: readonly Item[]) => Promise<number>
  read: (namespace: string, keys: readonly string[]) => Promise<ReadResult>
}

export function createLegacyClient(options: LegacyClientOptions): LegacyClient {
  const { baseUrl, key, timeoutMs = 30_000, fetch = globalThis.fetch.bind(globalThis) } = options
  const exchange = exchangeWith(baseUrl, fetch, timeoutMs)
  const about = aboutKey('client_', options)
  const session = startSession(exchange, pinnedIn(options.serviceKeyFingerprint), key, about)
  const next = inTurn()
  return {
    register: () => next(session.register),
    refresh: () => next(() => session.operate(refreshOperation)),
    rotate: (newKey, of = {}) => next(() => session.operate(rotateOperation(newKey, aboutKey('new_client_', of)))),
    save: (namespace, items) => next(() => session.operate(saveOperation(namespace, items))),
    read: (namespace, keys) => next(() => read(session, namespace, keys)),
  }
}

/** Without a key to hold on to, anybody in between could take the service's place. */
function pinnedIn(given: string | readonly string[]): readonly string[] {
  const pinned = typeof given === 'string' ? [given] : given
  if (pinned.length === 0 || !pinned.every((one) => /^SHA256:[A-Za-z0-9_-]{43}$/.test(one))) {
    throw new TypeError(
      'serviceKeyFingerprint must be SHA256: followed by 43 base64url characters, or a list of these.',
    )
  }
  return pinned
}

function aboutKey(prefix: string, { keyId, label, metadata }: AboutKey): Record<string, unknown> {
  return {
    ...(keyId !== undefined && { [`${prefix}key_id`]: keyId }),
    ...(label !== undefined && { [`${prefix}label`]: label }),
    ...(metadata !== undefined && { metadata }),
  }
}

async function read(session: Session, namespace: string, keys: readonly string[]): Promise<ReadResult> {
  const result = await session.operate(readOperation(session.key, namespace, keys))
  const items = result.items.map(({ updated_at, ...item }) => ({ ...item, updatedAt: updated_at }))
  return { namespace: result.namespace, items, missing: result.missing }
}
