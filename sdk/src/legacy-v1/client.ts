import { exchangeWith } from './exchange.ts'
import type { ClientKey } from './keys.ts'
import { readOperation, refreshOperation, rotateOperation, saveOperation } from './operations.ts'
import { oneAtATime, startSession } from './session.ts'
import type { Session } from './session.ts'

export interface LegacyClientOptions {
  /** The service's URL, or that of a relay. */
  baseUrl: string
  /**
   * The `SHA256:…` fingerprint of the service's key. Get it from the service's operator, never from the service itself.
   * During a key change, list the old and the new fingerprint.
   */
  serviceKeyFingerprint: string | readonly string[]
  /** Create it once with `generateClientKey` and store it. Anyone who has it can act as this client. */
  key: ClientKey
  keyId?: string
  label?: string
  metadata?: Record<string, unknown>
  /** Timeout of a request. Default: 30,000. */
  timeoutMs?: number
  /** Default: the runtime's `fetch`. */
  fetch?: typeof globalThis.fetch
}

export interface AboutKey {
  keyId?: string
  label?: string
  metadata?: Record<string, unknown>
}

export interface Item {
  key: string
  /** Any JSON value. */
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
  /** As normalized by the service. */
  namespace: string
  items: ReadItem[]
  /** Requested keys that have no saved value. */
  missing: string[]
}

/**
 * A client of the legacy protocol. Calls run one at a time, each with the challenge that the previous response
 * contained. The client registers automatically on the first call and after a pause. If a response is lost, it
 * registers again and repeats the call. A save may then run twice, with the same result.
 */
export interface LegacyClient {
  /** Resolves to this client's `client_uuid`, which never changes. */
  register: () => Promise<string>
  /** Replaces the current challenge with a new one. */
  refresh: () => Promise<void>
  /**
   * Replaces the client's key, then reads with the new one, by which the service proves that it is active. Store the
   * new key before you call this, and keep the old one until it resolves.
   */
  rotate: (newKey: ClientKey, about?: AboutKey) => Promise<void>
  /** Saves all items or none. Resolves to the number saved. */
  save: (namespace: string, items: readonly Item[]) => Promise<number>
  read: (namespace: string, keys: readonly string[]) => Promise<ReadResult>
}

export function createLegacyClient(options: LegacyClientOptions): LegacyClient {
  const { baseUrl, key, timeoutMs = 30_000, fetch = globalThis.fetch.bind(globalThis) } = options
  const exchange = exchangeWith(baseUrl, fetch, timeoutMs)
  const about = aboutKey('client_', options)
  const session = startSession(exchange, pinnedIn(options.serviceKeyFingerprint), key, about)
  const next = oneAtATime()
  return {
    register: () => next(session.register),
    refresh: () => next(() => session.operate(refreshOperation)),
    rotate: (newKey, of = {}) => next(() => session.operate(rotateOperation(newKey, aboutKey('new_client_', of)))),
    save: (namespace, items) => next(() => session.operate(saveOperation(namespace, items))),
    read: (namespace, keys) => next(() => read(session, namespace, keys)),
  }
}

/** Without a pinned key, a man in the middle could impersonate the service. */
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
