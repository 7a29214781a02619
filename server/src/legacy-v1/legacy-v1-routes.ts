/** The legacy protocol over HTTP. It is deprecated: agents use v4, and it remains only for existing backends. */
import {
  maxClientMetadataBytes,
  PublicKeyReply,
  ReadBody,
  ReadReply,
  RefreshBody,
  RefreshReply,
  RegisterClientBody,
  RegisterClientReply,
  RotateKeyBody,
  RotateKeyReply,
  SaveBody,
  SaveReply,
} from '@sallyport/protocol/v1/bodies'
import { maxAuthCiphertextBytes, maxCiphertextBytes, readEnvelope } from '@sallyport/protocol/v1/envelope'
import { hasRepeatedMember } from '@sallyport/protocol/v1/json-members'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { readJsonBodies } from '../platform/http/json-bodies.ts'
import { readClientKey } from './client-key.ts'
import type { IssuedChallenge } from './issue-challenge.ts'
import type { LegacyV1Store } from './legacy-v1-store.ts'
import { orRefused } from './open-envelope.ts'
import type { EnvelopeMember } from './open-envelope.ts'
import { readItems } from './read.ts'
import { refreshChallenge } from './refresh.ts'
import { registerClient } from './register.ts'
import { rotateKey } from './rotate-key.ts'
import { createRsaQueue } from './rsa-queue.ts'
import { saveItems } from './save.ts'
import type { Opened } from './save.ts'
import { createServiceKeys } from './service-keys.ts'

export interface LegacyV1Needs {
  config: Config
  database: Database
  legacyV1: LegacyV1Store
  audit: AuditWriter
  clock: Clock
}

const anyone = { allow: 'anyone' } as const
const described = (summary: string) => ({ tags: ['Legacy v1'], summary, deprecated: true })
/** A ciphertext of 1 MiB in base64url, plus an auth_envelope. */
const saveBodyBytes = 2 * 1024 * 1024

export async function legacyV1Routes(http: Http, given: LegacyV1Needs): Promise<void> {
  const { legacyV1, ...rest } = given
  const { config } = rest
  const keys = createServiceKeys({ ...rest, ...legacyV1 })
  const needs = { ...rest, ...legacyV1, keys, rsa: createRsaQueue(config.v1RsaQueue) }

  // A separate Fastify scope, because its bodies are parsed more strictly.
  await http.register(async (scope: Http) => {
    readJsonBodies(scope, refuseRepeated)
    scope.addHook('preValidation', (request, _reply, done) => {
      refuseMalformed(request.body)
      done()
    })

    scope.get(
      '/v1/authai/public-key',
      {
        config: anyone,
        schema: {
          ...described('Get the public key that envelopes are encrypted to'),
          response: { 200: PublicKeyReply },
        },
      },
      async () => {
        const { keyId, publicKey, fingerprint } = await keys.current()
        return { authai_public_key: publicKey, authai_key_id: keyId, fingerprint }
      },
    )

    scope.post(
      '/v1/authai/register',
      {
        config: { ...anyone, needsDiskSpace: true },
        schema: {
          ...described('Register a client'),
          body: RegisterClientBody,
          response: { 201: RegisterClientReply },
        },
      },
      async ({ body, ip, id }, reply) => {
        const { metadata = {} } = body
        assertMetadataFits(metadata)
        const key = await readClientKey(body.client_public_key, 'client_public_key')
        const registration = { key, keyId: body.client_key_id ?? null, label: body.client_label ?? null, metadata }
        const issued = await registerClient(needs, registration, { address: ip, requestId: id })
        const { keyId, publicKey } = await keys.current()
        return reply.code(201).send({ ...nextOf(issued), authai_public_key: publicKey, authai_key_id: keyId })
      },
    )

    scope.post(
      '/v1/authai/refresh',
      {
        config: anyone,
        schema: {
          ...described('Exchange a challenge for a new one'),
          body: RefreshBody,
          response: { 200: RefreshReply },
        },
      },
      async ({ body, id }) => nextOf(await refreshChallenge(needs, opened(body.auth_envelope).parts, id)),
    )

    scope.post(
      '/v1/authai/rotate-key',
      {
        config: anyone,
        schema: { ...described("Replace a client's key"), body: RotateKeyBody, response: { 200: RotateKeyReply } },
      },
      async ({ body, id }) => {
        assertMetadataFits(body.metadata ?? {})
        const key = await readClientKey(body.new_client_public_key, 'new_client_public_key')
        const keyId = body.new_client_key_id ?? null
        const rotation = { key, keyId, label: body.new_client_label ?? null, metadata: body.metadata }
        const issued = await rotateKey(needs, opened(body.auth_envelope).parts, rotation, id)
        return { ...nextOf(issued), client_key_id: keyId, public_key_fingerprint: key.fingerprint }
      },
    )

    scope.post(
      '/v1/kv/save',
      {
        config: anyone,
        bodyLimit: saveBodyBytes,
        schema: { ...described('Save values'), body: SaveBody, response: { 200: SaveReply } },
      },
      async ({ body, id }) => {
        const auth = opened(body.auth_envelope).parts
        const issued = await saveItems(needs, auth, opened(body.data_envelope), id)
        return { ...nextOf(issued), saved_count: issued.savedCount }
      },
    )

    scope.post(
      '/v1/kv/read',
      {
        config: anyone,
        schema: { ...described('Read values'), body: ReadBody, response: { 200: ReadReply } },
      },
      async ({ body, id }) => {
        const { recipient_public_key: pem } = body
        const issued = await readItems(needs, {
          auth: opened(body.auth_envelope).parts,
          query: opened(body.query_envelope),
          recipient: pem === undefined ? undefined : await readClientKey(pem, 'recipient_public_key'),
          requestId: id,
        })
        return { ...nextOf(issued), result_envelope: issued.result, result_proof: issued.proof }
      },
    )
  })
}

function nextOf({ challenge, envelope }: IssuedChallenge) {
  return {
    client_uuid: challenge.clientUuid,
    challenge_id: challenge.challengeId,
    challenge_for_client: envelope,
    expires_at: challenge.expiresAt.toISOString(),
  }
}

/** More than three envelopes, or a key with 4 KiB of metadata, can have. */
const maxBodyParts = 5000

function refuseRepeated(text: string): void {
  if (!hasRepeatedMember(text, maxBodyParts)) return
  const message = 'The body contains a duplicate member or too many members. Send each member once.'
  throw new ServiceError('invalid_field', { field: 'body', message })
}

const envelopeMembers: EnvelopeMember[] = ['auth_envelope', 'data_envelope', 'query_envelope']

/** Cache of parsed envelopes: parsing a large one takes a while. */
const readAlready = new WeakMap<object, Opened>()

/** Runs before schema validation, which would report the same code for every member. */
function refuseMalformed(body: unknown): void {
  for (const member of envelopeMembers) {
    const maxBytes = member === 'auth_envelope' ? maxAuthCiphertextBytes : maxCiphertextBytes
    const isThere = typeof body === 'object' && body !== null && Object.hasOwn(body, member)
    const read = isThere && orRefused(member, () => readEnvelope((body as Record<string, unknown>)[member], maxBytes))
    if (read) readAlready.set(read.envelope, read)
  }
}

function opened(envelope: object): Opened {
  return readAlready.get(envelope) ?? readEnvelope(envelope)
}

function assertMetadataFits(metadata: Record<string, unknown>): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) <= maxClientMetadataBytes) return
  const message = `"metadata" is larger than ${maxClientMetadataBytes} bytes of JSON.`
  throw new ServiceError('invalid_field', { field: 'metadata', message })
}
