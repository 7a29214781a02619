/**
 * A client of the legacy protocol, written from the contract with node:crypto. It shares no protocol code with the
 * service.
 */
import assert from 'node:assert/strict'
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  randomUUID,
} from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createServiceKeyStore } from '../src/legacy-v1/service-key-store.ts'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/config/config.ts'
import type { Database } from '../src/platform/database/database.ts'
import { masterKeySource, openDatabase } from '../src/platform/operations/instance.ts'
import { Secret } from '../src/platform/secret.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { openVault } from '../src/platform/vault/vault.ts'
import type { Vault } from '../src/platform/vault/vault.ts'
import { keptKey } from './kept-keys.ts'
import type { Reply, TestService } from './service.ts'

export interface KeyPair {
  publicKey: KeyObject
  privateKey: KeyObject
  pem: string
  spki: Buffer
  fingerprint: string
}

export interface TestEnvelope {
  v: string
  alg: string
  enc: string
  key_id?: string
  encrypted_key: string
  iv: string
  ciphertext: string
  tag: string
  aad?: string
}

/** Generating keys is slow. Those of one test are all different; another test may get them again. */
export function keyPair(index: number, modulusLength = 2048): KeyPair {
  return pairOf(keptKey(`legacy-client-${index}`, modulusLength))
}

export function newKeyPair(modulusLength: number, publicExponent = 65_537): KeyPair {
  return pairOf(generateKeyPairSync('rsa', { modulusLength, publicExponent }).privateKey)
}

function pairOf(privateKey: KeyObject): KeyPair {
  const publicKey = createPublicKey(privateKey)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  return { publicKey, privateKey, pem, spki, fingerprint: `SHA256:${sha256(spki)}` }
}

export function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('base64url')
}

const oaep = (key: KeyObject) => ({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' })

export interface SealOptions {
  aad?: string | undefined
  keyId?: string | undefined
  contentKey?: Buffer
}

/** `plaintext`: JSON, or bytes as they are. */
export function seal(to: KeyObject, plaintext: unknown, { aad, keyId, contentKey }: SealOptions = {}): TestEnvelope {
  const key = contentKey ?? randomBytes(32)
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', Buffer.concat([key, Buffer.alloc(32)]).subarray(0, 32), iv)
  if (aad !== undefined) cipher.setAAD(Buffer.from(aad))
  const bytes = Buffer.isBuffer(plaintext) ? plaintext : Buffer.from(JSON.stringify(plaintext))
  const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final()])
  return {
    ...{ v: 'ksp1', alg: 'RSA-OAEP-256', enc: 'A256GCM' },
    ...(keyId !== undefined && { key_id: keyId }),
    encrypted_key: publicEncrypt(oaep(to), key).toString('base64url'),
    iv: iv.toString('base64url'),
    ciphertext: ciphertext.toString('base64url'),
    tag: cipher.getAuthTag().toString('base64url'),
    ...(aad !== undefined && { aad: Buffer.from(aad).toString('base64url') }),
  }
}

export function open(privateKey: KeyObject, envelope: TestEnvelope): any {
  return JSON.parse(openText(privateKey, envelope))
}

export function openText(privateKey: KeyObject, envelope: TestEnvelope): string {
  const key = privateDecrypt(oaep(privateKey), Buffer.from(envelope.encrypted_key, 'base64url'))
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(envelope.iv, 'base64url'))
  decipher.setAuthTag(Buffer.from(envelope.tag, 'base64url'))
  if (envelope.aad !== undefined) decipher.setAAD(Buffer.from(envelope.aad, 'base64url'))
  const parts = [decipher.update(Buffer.from(envelope.ciphertext, 'base64url')), decipher.final()]
  return Buffer.concat(parts).toString()
}

export function envelopeHash({ encrypted_key, iv, ciphertext, tag, aad = '' }: TestEnvelope): string {
  return sha256([encrypted_key, iv, ciphertext, tag, aad].join('.'))
}

export interface TestChallenge {
  v: string
  type: string
  purpose: string
  client_uuid: string
  challenge_id: string
  nonce: string
  issued_at: string
  expires_at: string
}

export interface TestClient {
  clientUuid: string
  key: KeyPair
  challenge: TestChallenge
  serviceKey: KeyObject
  serviceKeyId: string
}

/** A service in this process or another one; the latter has no accessible database or vault. */
interface Service extends Partial<Pick<TestService, 'database' | 'vault'>> {
  call: (method: string, path: string, call: { body: object }) => Promise<Reply>
  clock: Pick<TestService['clock'], 'now'>
}

/** Gives the service a prepared key if it has none: generating one takes a second. */
async function giveServiceKey(database: Database, vault: Vault, now: Date): Promise<void> {
  const { pem, privateKey } = pairOf(keptKey('legacy-service', 3072))
  const pkcs8 = new Secret(privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'))
  const key = { keyId: 'shared', publicKey: pem, privateKey: pkcs8 }
  await database.transaction((tx) => createServiceKeyStore(vault).insertFirst(tx, key, now))
}

/** The same for a running service in another process, which reads its keys with every call. */
export async function giveRunningServiceKey(env: Environment): Promise<void> {
  const config = readConfig(env)
  const database = openDatabase(config)
  try {
    const vault = await openVault({ database, readMasterKeys: masterKeySource(config).read, clock: systemClock })
    await giveServiceKey(database, vault, systemClock())
  } finally {
    await database.close()
  }
}

export async function register(service: Service, key = keyPair(0), members: object = {}): Promise<TestClient> {
  const { database, vault, clock } = service
  if (database && vault) await giveServiceKey(database, vault, clock.now())
  const reply = await service.call('POST', '/v1/authai/register', { body: { client_public_key: key.pem, ...members } })
  assert.equal(reply.status, 201, reply.text)
  return {
    clientUuid: reply.body.client_uuid as string,
    key,
    challenge: open(key.privateKey, reply.body.challenge_for_client as TestEnvelope) as TestChallenge,
    serviceKey: createPublicKey(reply.body.authai_public_key as string),
    serviceKeyId: reply.body.authai_key_id as string,
  }
}

export function authPayload(service: Service, { clientUuid, challenge }: TestClient, action: string): object {
  const now = service.clock.now().getTime()
  return {
    ...{ v: 'ksp1', type: 'auth', action, client_uuid: clientUuid, challenge_id: challenge.challenge_id },
    ...{ request_id: randomUUID(), nonce: challenge.nonce },
    ...{ issued_at: new Date(now).toISOString(), expires_at: new Date(now + 60_000).toISOString() },
  }
}

interface AuthOptions {
  /** Changes members of the payload. */
  change?: object
  aad?: string | undefined
}

export function authEnvelope(
  service: Service,
  client: TestClient,
  action: string,
  { change = {}, aad }: AuthOptions = {},
): TestEnvelope {
  return seal(client.serviceKey, { ...authPayload(service, client, action), ...change }, { aad })
}

export const payloadAad = ({ clientUuid, challenge }: TestClient) =>
  `ksp1-bind.v1.${clientUuid}.${challenge.challenge_id}`

export function authAad(bound: Record<string, TestEnvelope | KeyPair>): string {
  const names = ['data_envelope', 'query_envelope', 'recipient_public_key', 'new_client_public_key']
  const lines = names.flatMap((name) => {
    const one = bound[name]
    return one ? [`${name}=${'spki' in one ? sha256(one.spki) : envelopeHash(one)}\n`] : []
  })
  return `ksp1-bind.v1.${sha256(lines.join(''))}`
}

export const savePayload = (items: unknown, namespace = 'team/a') => ({ v: 'ksp1', type: 'kv.save', namespace, items })
export const queryPayload = (keys: unknown, namespace = 'team/a') => ({ v: 'ksp1', type: 'kv.read', namespace, keys })

interface CallOptions {
  bind?: boolean
}

/** The body of a valid save. */
export function saveBody(
  service: Service,
  client: TestClient,
  items: unknown,
  { bind = false }: CallOptions = {},
): { auth_envelope: TestEnvelope; data_envelope: TestEnvelope } {
  const data_envelope = seal(client.serviceKey, savePayload(items), { aad: bind ? payloadAad(client) : undefined })
  const aad = bind ? authAad({ data_envelope }) : undefined
  return { auth_envelope: authEnvelope(service, client, 'kv.save', { aad }), data_envelope }
}

export function readBody(
  service: Service,
  client: TestClient,
  keys: unknown,
  { bind = false, recipient }: CallOptions & { recipient?: KeyPair } = {},
): { auth_envelope: TestEnvelope; query_envelope: TestEnvelope; recipient_public_key?: string } {
  const query_envelope = seal(client.serviceKey, queryPayload(keys), { aad: bind ? payloadAad(client) : undefined })
  const aad = bind ? authAad({ query_envelope, ...(recipient && { recipient_public_key: recipient }) }) : undefined
  return {
    auth_envelope: authEnvelope(service, client, 'kv.read', { aad }),
    query_envelope,
    ...(recipient && { recipient_public_key: recipient.pem }),
  }
}

/** Calls, requires success, and gives the client the new challenge. */
export async function succeed(service: Service, client: TestClient, path: string, body: object): Promise<Reply> {
  const reply = await service.call('POST', path, { body })
  assert.equal(reply.status, 200, reply.text)
  client.challenge = open(client.key.privateKey, reply.body.challenge_for_client as TestEnvelope) as TestChallenge
  return reply
}

export const save = (service: Service, client: TestClient, items: unknown) =>
  succeed(service, client, '/v1/kv/save', saveBody(service, client, items))

/** The decrypted result. */
export async function read(service: Service, client: TestClient, keys: unknown): Promise<any> {
  const reply = await succeed(service, client, '/v1/kv/read', readBody(service, client, keys))
  return open(client.key.privateKey, reply.body.result_envelope as TestEnvelope)
}

export const refresh = (service: Service, client: TestClient) =>
  service.call('POST', '/v1/authai/refresh', {
    body: { auth_envelope: authEnvelope(service, client, 'authai.refresh') },
  })

export function proofOf(nonce: string, requestId: string, result: TestEnvelope): string {
  return createHmac('sha256', Buffer.from(nonce, 'base64url'))
    .update(`ksp1-result.v1.${requestId}.${envelopeHash(result)}`)
    .digest('base64url')
}

/** Status, code and field of an error. */
export function refusal({ status, body }: Reply): [number, string, string | undefined] {
  return [status, body.error.code as string, body.error.field as string | undefined]
}
