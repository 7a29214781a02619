import { randomBytes, randomUUID } from 'node:crypto'
import { toBase64url } from '@sallyport/protocol/v1/base64url'
import { nonceHash } from '@sallyport/protocol/v1/binding'
import { version, writeEnvelope } from '@sallyport/protocol/v1/envelope'
import type { Envelope } from '@sallyport/protocol/v1/envelope'
import { challengePurpose, nonceBytes } from '@sallyport/protocol/v1/payloads'
import type { ChallengePayload } from '@sallyport/protocol/v1/payloads'
import { fromPem } from '@sallyport/protocol/v1/public-key'
import type { Config } from '../config/config.ts'
import type { Challenge } from './challenge.ts'
import { importPublicKey, sealParts } from './envelope-crypto.ts'
import type { RsaQueue } from './rsa-queue.ts'

export interface IssueNeeds {
  config: Pick<Config, 'v1ChallengeSeconds'>
  rsa: RsaQueue
}

/** The client that a challenge is for, and the public key to encrypt it with. */
export interface Recipient {
  clientUuid: string
  /** PEM, SPKI. */
  publicKey: string
  keyId: string | null
}

/** A challenge that is not stored yet, and the envelope that contains it for the client. */
export interface IssuedChallenge {
  challenge: Challenge
  envelope: Envelope
}

export async function newChallenge(needs: IssueNeeds, recipient: Recipient, now: Date): Promise<IssuedChallenge> {
  const { clientUuid } = recipient
  const nonce = randomBytes(nonceBytes)
  const expiresAt = new Date(now.getTime() + needs.config.v1ChallengeSeconds * 1000)
  const challenge: Challenge = {
    ...{ challengeId: randomUUID(), clientUuid, nonceHash: await nonceHash(nonce) },
    ...{ status: 'active' as const, createdAt: now, expiresAt },
  }
  const plaintext: ChallengePayload = {
    ...{ v: version, type: 'challenge' as const, purpose: challengePurpose },
    ...{ client_uuid: clientUuid, challenge_id: challenge.challengeId, nonce: toBase64url(nonce) },
    ...{ issued_at: now.toISOString(), expires_at: expiresAt.toISOString() },
  }
  return { challenge, envelope: await sealFor(needs, recipient, JSON.stringify(plaintext)) }
}

export async function sealFor(
  { rsa }: Pick<IssueNeeds, 'rsa'>,
  { publicKey, keyId }: Pick<Recipient, 'publicKey' | 'keyId'>,
  plaintext: string,
  aad = new Uint8Array(),
): Promise<Envelope> {
  const key = await importPublicKey(fromPem(publicKey) ?? new Uint8Array())
  const parts = await sealParts(rsa, key, Buffer.from(plaintext), { keyId: keyId ?? undefined, aad })
  return writeEnvelope(parts, (bytes) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url'),
  )
}
