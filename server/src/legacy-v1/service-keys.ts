/**
 * The key that envelopes for the service are encrypted with. The first instance that needs it creates it, and it is
 * stored encrypted in the database. Every call reads there which keys are valid, so a rotation takes effect on all
 * instances at once.
 */
import { randomBytes, webcrypto } from 'node:crypto'
import { fromPem, publicKeyFingerprint, toPem } from '@sallyport/protocol/v1/public-key'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { Secret } from '../platform/secret.ts'
import { importPrivateKey } from './envelope-crypto.ts'
import type { CryptoKey } from './envelope-crypto.ts'
import type { NewServiceKey, ServiceKey, ServiceKeyStore } from './service-key-store.ts'

export interface ServiceKeyNeeds {
  config: Pick<Config, 'v1KeyOverlapHours'>
  database: Database
  serviceKeys: ServiceKeyStore
  clock: Clock
}

export interface PublishedKey {
  keyId: string
  /** PEM, SPKI. */
  publicKey: string
  fingerprint: string
}

export interface ServiceKeys {
  current: () => Promise<PublishedKey>
  /** The keys to try for an envelope with this key id, or without one: the newest first. */
  openers: (keyId: string | undefined) => Promise<CryptoKey[]>
}

export function createServiceKeys(needs: ServiceKeyNeeds): ServiceKeys {
  const imported = new Map<string, Promise<CryptoKey>>()
  let making: Promise<void> | undefined

  const list = async (): Promise<ServiceKey[]> => {
    const { database, serviceKeys, clock } = needs
    const find = () => serviceKeys.list(database.queries, overlapStart(needs.config, clock()))
    const keys = await find()
    if (keys[0]?.isCurrent) return keys
    making ??= makeFirst(needs).finally(() => {
      making = undefined
    })
    await making
    return find()
  }

  return {
    current: async () => {
      const [key] = await list()
      if (!key) throw new Error('the key of the service was not stored')
      const fingerprint = await publicKeyFingerprint(fromPem(key.publicKey) ?? new Uint8Array())
      return { keyId: key.keyId, publicKey: key.publicKey, fingerprint }
    },
    openers: async (keyId) => {
      const keys = (await list()).filter((key) => keyId === undefined || key.keyId === keyId)
      return Promise.all(
        keys.map((key) => {
          const known = imported.get(key.keyId) ?? importPrivateKey(Buffer.from(key.privateKey.reveal(), 'base64'))
          imported.set(key.keyId, known)
          return known
        }),
      )
    },
  }
}

/** Keys retired before this time are not used any more. */
export function overlapStart({ v1KeyOverlapHours }: Pick<Config, 'v1KeyOverlapHours'>, now: Date): Date {
  return new Date(now.getTime() - v1KeyOverlapHours * 3_600_000)
}

/** Publishes a new key. Envelopes for the former one are still decrypted for the configured overlap. */
export async function rotateServiceKey(needs: ServiceKeyNeeds & { audit: AuditWriter }): Promise<PublishedKey> {
  const { database, serviceKeys, audit, clock } = needs
  const key = await newServiceKey()
  await database.transaction(async (tx) => {
    const now = clock()
    const former = await serviceKeys.replaceCurrent(tx, key, now)
    const detail = { key_id: key.keyId, former_key_id: former ?? null }
    await audit.append(tx, { event: 'v1.service_key_rotated', at: now, detail })
  })
  return { ...key, fingerprint: await publicKeyFingerprint(fromPem(key.publicKey) ?? new Uint8Array()) }
}

async function makeFirst({ database, serviceKeys, clock }: ServiceKeyNeeds): Promise<void> {
  const key = await newServiceKey()
  await database.transaction((tx) => serviceKeys.insertFirst(tx, key, clock()))
}

const rsa = { name: 'RSA-OAEP', modulusLength: 3072, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }

async function newServiceKey(): Promise<NewServiceKey> {
  const { subtle } = webcrypto
  const pair = await subtle.generateKey(rsa, true, ['encrypt', 'decrypt'])
  const spki = await subtle.exportKey('spki', pair.publicKey)
  const pkcs8 = await subtle.exportKey('pkcs8', pair.privateKey)
  return {
    keyId: randomBytes(8).toString('hex'),
    publicKey: toPem(new Uint8Array(spki)),
    privateKey: new Secret(Buffer.from(pkcs8).toString('base64')),
  }
}
