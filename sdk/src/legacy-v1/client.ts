import { payloadBinding, resultProofInput } from '@sallyport/protocol/v1/binding'
import { fromBase64url } from '@sallyport/protocol/v1/base64url'
import { keyAlgorithm } from '@sallyport/protocol/v1/envelope'
import type { Envelope } from '@sallyport/protocol/v1/envelope'
import { readResultPayload } from '@sallyport/protocol/v1/payloads'
import { openEnvelope, seal } from './envelope.ts'
import { LegacyError } from './errors.ts'
import { exchangeWith, textIn } from './exchange.ts'
import type { Answer } from './exchange.ts'
import { fingerprintOf, publicPem, spkiOf } from './keys.ts'
import type { ClientKey } from './keys.ts'
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
  /** Puts another key in place. Keep the new one before, and the old one until this is done. */
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
    refresh: () => next(() => refresh(session)),
    rotate: (newKey, aboutNewKey = {}) => next(() => rotate(session, newKey, aboutNewKey)),
    save: (namespace, items) => next(() => save(session, namespace, items)),
    read: (namespace, keys) => next(() => read(session, namespace, keys)),
  }
}

/** Without a key to hold on to, anybody in between could take the service's place. */
function pinnedIn(given: string | readonly string[]): readonly string[] {
  const pinned = typeof given === 'string' ? [given] : given
  if (pinned.length === 0 || !pinned.every((one) => /^SHA256:[A-Za-z0-9_-]{43}$/.test(one))) {
    throw new TypeError('serviceKeyFingerprint is SHA256: and 43 characters of base64url, or a list of these.')
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

const nothing = async () => undefined

function refresh(session: Session): Promise<void> {
  const parts = async () => ({ body: {}, bound: {} })
  return session.operate<undefined>({ action: 'authai.refresh', path: '/v1/authai/refresh', parts, take: nothing })
}

async function rotate(session: Session, newKey: ClientKey, about: AboutKey): Promise<void> {
  const spki = await spkiOf(newKey.publicKey)
  const body = {
    new_client_public_key: await publicPem(newKey.publicKey),
    new_client_key_alg: keyAlgorithm,
    ...aboutKey('new_client_', about),
  }
  const fingerprint = await fingerprintOf(newKey.publicKey)
  await session.operate<undefined>({
    action: 'authai.rotate_key',
    path: '/v1/authai/rotate-key',
    next: { key: newKey, inPlace: undefined },
    parts: async () => ({ body, bound: { new_client_public_key: spki } }),
    take: async (answer) => {
      if (textIn(answer, 'public_key_fingerprint') === fingerprint) return undefined
      throw new LegacyError('unexpected_answer', 'The answer names another key than the new one.')
    },
  })
}

function save(session: Session, namespace: string, items: readonly Item[]): Promise<number> {
  const whole = items.map(({ key, value, metadata = {} }) => ({ key, value, metadata }))
  return session.operate({
    action: 'kv.save',
    path: '/v1/kv/save',
    parts: async ({ clientUuid, challengeId }, serviceKey) => {
      const message = { v: 'ksp1', type: 'kv.save', namespace, items: whole }
      const data_envelope = await seal(serviceKey, message, payloadBinding(clientUuid, challengeId))
      return { body: { data_envelope }, bound: { data_envelope } }
    },
    take: async ({ saved_count }) => {
      if (saved_count === items.length) return saved_count
      throw new LegacyError('unexpected_answer', 'Another number of items was saved.')
    },
  })
}

function read(session: Session, namespace: string, keys: readonly string[]): Promise<ReadResult> {
  const { publicKey, privateKey } = session.key()
  return session.operate({
    action: 'kv.read',
    path: '/v1/kv/read',
    parts: async ({ clientUuid, challengeId }, serviceKey) => {
      const message = { v: 'ksp1', type: 'kv.read', namespace, keys }
      const query_envelope = await seal(serviceKey, message, payloadBinding(clientUuid, challengeId))
      // Named and bound, our own key is taken whichever variant of reading the service has in force.
      return {
        body: { query_envelope, recipient_public_key: await publicPem(publicKey) },
        bound: { query_envelope, recipient_public_key: await spkiOf(publicKey) },
      }
    },
    take: async (answer, { nonce, requestId }) => {
      await assertProven(answer, nonce, requestId)
      return resultIn(await openEnvelope(privateKey, answer['result_envelope']))
    },
  })
}

/** Only the service knows both the nonce and the request's id, which is sealed. Anybody could have made the envelope. */
async function assertProven({ result_envelope, result_proof }: Answer, nonce: string, requestId: string) {
  const proof = typeof result_proof === 'string' ? fromBase64url(result_proof) : undefined
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', fromBase64url(nonce) ?? new Uint8Array(), hmac, false, ['verify'])
  const text = new TextEncoder().encode(await resultProofInput(requestId, (result_envelope ?? {}) as Envelope))
  if (proof && (await crypto.subtle.verify('HMAC', key, proof, text))) return
  throw new LegacyError('result_not_authentic', 'The service did not make this result for this request.')
}

function resultIn(message: object | undefined): ReadResult {
  try {
    const { namespace, items, missing } = readResultPayload(message)
    return {
      namespace,
      items: items.map(({ key, value, metadata, updated_at }) => ({ key, value, metadata, updatedAt: updated_at })),
      missing,
    }
  } catch (cause) {
    throw new LegacyError('unexpected_answer', 'The result can not be read with this key.', { cause })
  }
}
