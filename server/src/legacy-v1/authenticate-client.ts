/**
 * Authenticates a client (legacy v1, Authentication 3), with checks in the order of the contract, and verifies that the
 * request was not altered. The challenge is not consumed here: the transaction of the operation checks it again.
 */
import { timingSafeEqual } from 'node:crypto'
import { aadBytes, authBinding, isBinding, nonceHash, payloadBinding } from '@sallyport/protocol/v1/binding'
import type { BoundMembers } from '@sallyport/protocol/v1/binding'
import type { EnvelopeParts } from '@sallyport/protocol/v1/envelope'
import { readAuthPayload } from '@sallyport/protocol/v1/payloads'
import type { Action, Auth } from '@sallyport/protocol/v1/payloads'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { assertTimely, assertUsable } from './challenge.ts'
import type { Challenge } from './challenge.ts'
import type { V1ChallengeStore } from './challenge-store.ts'
import type { Client } from './client.ts'
import type { ClientStore } from './client-store.ts'
import { openEnvelope, refusal } from './open-envelope.ts'
import type { EnvelopeMember, OpenNeeds } from './open-envelope.ts'

export interface AuthenticateNeeds extends OpenNeeds {
  config: Pick<Config, 'v1Binding'>
  database: Database
  clients: ClientStore
  challenges: V1ChallengeStore
  clock: Clock
}

/** An authenticated client, with its challenge. */
export interface Caller {
  client: Client
  challenge: Challenge
  auth: Auth
  nonceHash: Uint8Array
  /** Whether the client bound its authentication to the rest of the request. */
  isBound: boolean
}

export async function authenticateClient(
  needs: AuthenticateNeeds,
  parts: EnvelopeParts,
  action: Action,
  bound: BoundMembers,
): Promise<Caller> {
  const { database, clients, challenges, clock } = needs
  const auth = await openEnvelope(needs, 'auth_envelope', parts, readAuthPayload)
  const now = clock()
  assertTimely(auth, now)
  if (auth.action !== action) throw new ServiceError('challenge_purpose_mismatch', { field: 'auth_envelope' })
  const client = await clients.find(database.queries, auth.clientUuid)
  if (!client) throw new ServiceError('challenge_not_found')
  const challenge = await challenges.find(database.queries, auth.challengeId)
  const hash = await nonceHash(auth.nonce)
  assertUsable(challenge, { clientUuid: client.clientUuid, nonceHash: hash }, now)
  const isBound = assertBound(needs, 'auth_envelope', parts.aad, await authBinding(bound))
  return { client, challenge, auth, nonceHash: hash, isBound }
}

/** Opens the second envelope, for a caller that has authenticated. */
export async function openPayload<T>(
  needs: AuthenticateNeeds,
  { client, challenge }: Caller,
  member: Exclude<EnvelopeMember, 'auth_envelope'>,
  parts: EnvelopeParts,
  read: (json: unknown, text: string) => T,
): Promise<T> {
  const payload = await openEnvelope(needs, member, parts, read)
  assertBound(needs, member, parts.aad, payloadBinding(client.clientUuid, challenge.challengeId))
  return payload
}

/** False for an unbound envelope, if those are allowed. It was decrypted, so nobody but its sender wrote the aad. */
function assertBound(
  { config }: Pick<AuthenticateNeeds, 'config'>,
  member: EnvelopeMember,
  aad: Uint8Array,
  binding: string,
): boolean {
  if (!isBinding(aad)) {
    if (config.v1Binding === 'required') throw refusal(member, 'aad: not bound')
    return false
  }
  const expected = aadBytes(binding)
  if (aad.length !== expected.length || !timingSafeEqual(aad, expected)) throw refusal(member, 'aad: bound to another')
  return true
}
