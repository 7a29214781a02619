/**
 * Anyone may register a public key (legacy v1, Authentication 1): that proves nothing. Only the holder of the private
 * key can decrypt the challenge. Someone who registers another client's key again must not disturb that client, so this
 * only adds a challenge, which they can't read.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { AuditWriter } from '../audit/audit-log.ts'
import { addressBlock } from '../platform/limits/client-address.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { perDay, perHour, perMinute, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { Secret } from '../platform/secret.ts'
import type { V1ChallengeStore } from './challenge-store.ts'
import type { Registration } from './client.ts'
import type { ClientStore } from './client-store.ts'
import { newChallenge } from './issue-challenge.ts'
import type { IssuedChallenge, IssueNeeds } from './issue-challenge.ts'

export interface RegisterNeeds extends IssueNeeds {
  config: IssueNeeds['config'] &
    Pick<
      Config,
      | 'v1Registration'
      | 'v1RegistrationsPerMinute'
      | 'v1RegistrationsPerDay'
      | 'v1RegistrationsPerDay48'
      | 'v1RegistrationsPerKey'
    >
  database: Database
  clients: ClientStore
  challenges: V1ChallengeStore
  audit: AuditWriter
  clock: Clock
}

interface From {
  address: string
  requestId: string
}

const attempts = 3

export async function registerClient(
  needs: RegisterNeeds,
  registration: Registration,
  from: From,
): Promise<IssuedChallenge> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      return await registerOnce(needs, registration, from)
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error
    }
  }
  throw new ServiceError('conflict', { retryAfterSeconds: 1 })
}

/** Another request registered or rotated the key between the lookup and the write. */
class Overtaken extends Error {}

async function registerOnce(needs: RegisterNeeds, registration: Registration, from: From): Promise<IssuedChallenge> {
  const { config, database, clients, challenges, audit, clock } = needs
  const { key } = registration
  const known = await clients.findByFingerprint(database.queries, key.fingerprint)
  if (known && !known.isActive) {
    throw new ServiceError('public_key_already_registered', { field: 'client_public_key' })
  }
  if (!known && config.v1Registration === 'closed') {
    throw new ServiceError('forbidden', { message: 'New clients cannot register. Ask the operator.' })
  }
  const clientUuid = known?.clientUuid ?? randomUUID()
  const keyId = known ? known.keyId : registration.keyId
  const lookupKey = new Secret(randomBytes(32).toString('base64url'))
  const issued = await newChallenge(needs, { clientUuid, publicKey: key.pem, keyId }, clock())
  return database.transaction(async (tx) => {
    const now = clock()
    await takeFromLimits(needs, tx, key.fingerprint, from.address, now)
    if (known) await clients.lock(database, tx, clientUuid)
    const still = await clients.findByFingerprint(tx, key.fingerprint)
    if (still?.clientUuid !== known?.clientUuid || still?.isActive !== known?.isActive) throw new Overtaken()
    if (!known && !(await clients.insert(tx, clientUuid, registration, lookupKey, now))) throw new Overtaken()
    await challenges.insert(tx, issued.challenge)
    const detail = { client_uuid: clientUuid, fingerprint: key.fingerprint, again: known !== undefined }
    const isKeptBriefly = config.v1Registration === 'open'
    await audit.append(tx, { event: 'v1.registered', at: now, requestId: from.requestId, isKeptBriefly, detail })
    return issued
  })
}

/** Per address: registrations, to protect the disk, and challenges for one key, as each takes an RSA operation. */
async function takeFromLimits(
  { config }: RegisterNeeds,
  tx: Queries,
  fingerprint: string,
  address: string,
  now: Date,
): Promise<void> {
  const { narrow, wide } = addressBlock(address)
  await takeFromLimit(tx, `v1-register-minute:${narrow}`, perMinute(config.v1RegistrationsPerMinute), now)
  await takeFromLimit(tx, `v1-register-day:${narrow}`, perDay(config.v1RegistrationsPerDay), now)
  if (wide) await takeFromLimit(tx, `v1-register-day:${wide}`, perDay(config.v1RegistrationsPerDay48), now)
  const perKey = `v1-register-key:${narrow}:${fingerprint}`
  await takeFromLimit(tx, perKey, perHour(config.v1RegistrationsPerKey), now)
}
