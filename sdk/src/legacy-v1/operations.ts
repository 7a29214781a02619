/** The request of each operation, and how its response is checked. */
import { fromBase64url } from '@sallyport/protocol/v1/base64url'
import { payloadBinding, resultBinding, resultProofInput } from '@sallyport/protocol/v1/binding'
import type { BoundMembers } from '@sallyport/protocol/v1/binding'
import { keyAlgorithm } from '@sallyport/protocol/v1/envelope'
import type { Envelope } from '@sallyport/protocol/v1/envelope'
import { readResultPayload } from '@sallyport/protocol/v1/payloads'
import type { Action, Item, ResultPayload } from '@sallyport/protocol/v1/payloads'
import type { Challenge } from './challenge.ts'
import { openEnvelope, seal } from './envelope.ts'
import { LegacyError } from './errors.ts'
import { textIn } from './exchange.ts'
import type { Answer } from './exchange.ts'
import { fingerprintOf, publicPem, spkiOf } from './keys.ts'
import type { ClientKey, Key } from './keys.ts'

/** The values of the request that the response has to match. */
export interface Asked {
  clientUuid: string
  nonce: string
  requestId: string
}

export interface Operation<T> {
  action: Action
  path: string
  /** The members sent with the auth_envelope, and the values that it is bound to. */
  parts: (challenge: Challenge, serviceKey: Key) => Promise<{ body: object; bound: BoundMembers }>
  take: (answer: Answer, asked: Asked) => Promise<T>
  /** For a rotation: the new key, and the result to return if the key is active already. */
  next?: { key: ClientKey; inPlace: T }
}

export const refreshOperation: Operation<undefined> = {
  action: 'authai.refresh',
  path: '/v1/authai/refresh',
  parts: async () => ({ body: {}, bound: {} }),
  take: async () => undefined,
}

/** `about`: further members that describe the new key. */
export function rotateOperation(newKey: ClientKey, about: object): Operation<undefined> {
  return {
    action: 'authai.rotate_key',
    path: '/v1/authai/rotate-key',
    next: { key: newKey, inPlace: undefined },
    parts: async () => {
      const new_client_public_key = await publicPem(newKey.publicKey)
      return {
        body: { new_client_public_key, new_client_key_alg: keyAlgorithm, ...about },
        bound: { new_client_public_key: await spkiOf(newKey.publicKey) },
      }
    },
    take: async (answer) => {
      if (textIn(answer, 'public_key_fingerprint') === (await fingerprintOf(newKey.publicKey))) return undefined
      throw new LegacyError('unexpected_answer', 'The response does not confirm the new key.')
    },
  }
}

export function saveOperation(namespace: string, given: readonly Item[]): Operation<number> {
  const items = given.map(({ key, value, metadata = {} }) => ({ key, value, metadata }))
  return {
    action: 'kv.save',
    path: '/v1/kv/save',
    parts: async ({ clientUuid, challengeId }, serviceKey) => {
      const message = { v: 'ksp1', type: 'kv.save', namespace, items }
      const data_envelope = await seal(serviceKey, message, payloadBinding(clientUuid, challengeId))
      return { body: { data_envelope }, bound: { data_envelope } }
    },
    take: async ({ saved_count }) => {
      if (saved_count === items.length) return saved_count
      throw new LegacyError('unexpected_answer', 'The number of saved items does not match.')
    },
  }
}

/** The only operation whose response proves that the service created it for the holder of this key. */
export function readOperation(
  key: () => ClientKey,
  namespace: string,
  keys: readonly string[],
): Operation<ResultPayload> {
  return {
    action: 'kv.read',
    path: '/v1/kv/read',
    parts: async ({ clientUuid, challengeId }, serviceKey) => {
      const { publicKey } = key()
      const message = { v: 'ksp1', type: 'kv.read', namespace, keys }
      const query_envelope = await seal(serviceKey, message, payloadBinding(clientUuid, challengeId))
      // Name and bind our own key: accepted in every variant of the read operation.
      return {
        body: { query_envelope, recipient_public_key: await publicPem(publicKey) },
        bound: { query_envelope, recipient_public_key: await spkiOf(publicKey) },
      }
    },
    take: async (answer, { clientUuid, nonce, requestId }) => {
      await assertProven(answer, nonce, requestId)
      const { publicKey, privateKey } = key()
      // A relay could have encrypted another client's challenge to us. The binding would then name another key.
      const binding = resultBinding(clientUuid, await fingerprintOf(publicKey))
      return resultIn(await openEnvelope(privateKey, answer['result_envelope'], binding))
    },
  }
}

/** Anyone can create an envelope, but only the service knows both the nonce and the encrypted request id. */
async function assertProven({ result_envelope, result_proof }: Answer, nonce: string, requestId: string) {
  const proof = typeof result_proof === 'string' ? fromBase64url(result_proof) : undefined
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', fromBase64url(nonce) ?? new Uint8Array(), hmac, false, ['verify'])
  const text = new TextEncoder().encode(await resultProofInput(requestId, (result_envelope ?? {}) as Envelope))
  if (proof && (await crypto.subtle.verify('HMAC', key, proof, text))) return
  throw new LegacyError('result_not_authentic', 'This result was not created by the service for this request.')
}

function resultIn(message: object | undefined): ResultPayload {
  try {
    return readResultPayload(message)
  } catch (cause) {
    throw new LegacyError(
      'unexpected_answer',
      'The result cannot be decrypted with this key, or is for another client.',
      {
        cause,
      },
    )
  }
}
