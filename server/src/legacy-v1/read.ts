import { aadBytes, resultBinding, resultProof } from '@sallyport/protocol/v1/binding'
import type { Envelope, EnvelopeParts } from '@sallyport/protocol/v1/envelope'
import { version } from '@sallyport/protocol/v1/envelope'
import { readQueryPayload } from '@sallyport/protocol/v1/payloads'
import type { Config } from '../config/config.ts'
import { ServiceError } from '../platform/errors.ts'
import { authenticateClient, openPayload } from './authenticate-client.ts'
import type { Caller } from './authenticate-client.ts'
import type { ClientKey } from './client-key.ts'
import { sealFor } from './issue-challenge.ts'
import type { IssuedChallenge } from './issue-challenge.ts'
import { itemId, readContent } from './item.ts'
import type { ItemStore } from './item-store.ts'
import { operate } from './operate.ts'
import type { OperateNeeds } from './operate.ts'
import type { Opened } from './save.ts'

export interface ReadNeeds extends OperateNeeds {
  config: OperateNeeds['config'] & Pick<Config, 'v1Read'>
  items: ItemStore
}

export interface ReadRequest {
  auth: EnvelopeParts
  query: Opened
  recipient: ClientKey | undefined
  requestId: string
}

export async function readItems(
  needs: ReadNeeds,
  { auth, query, recipient, requestId }: ReadRequest,
): Promise<IssuedChallenge & { result: Envelope; proof: string }> {
  if (!recipient && needs.config.v1Read === 'recipient') {
    throw new ServiceError('missing_recipient_public_key', { field: 'recipient_public_key' })
  }
  const bound = { query_envelope: query.envelope, recipient_public_key: recipient?.spki }
  const caller = await authenticateClient(needs, auth, 'kv.read', bound)
  assertRecipientMeant(needs, caller, recipient)
  const { namespace, keys } = await openPayload(needs, caller, 'query_envelope', query.parts, readQueryPayload)
  const { text, found } = await resultOf(needs, caller, namespace, keys)
  const to = recipient ? { publicKey: recipient.pem, keyId: null } : caller.client
  const result = await sealFor(needs, to, text, bindingFor(caller))
  const proof = await resultProof(caller.auth.nonce, caller.auth.requestId, result)
  // What was read is still current here: a save consumes a challenge, which revokes this one.
  const issued = await operate(needs, caller, {
    event: 'v1.read',
    act: () => Promise.resolve({ keys: keys.length, found, to_recipient: recipient !== undefined }),
    requestId,
  })
  return { ...issued, result, proof }
}

/**
 * Anyone can get a challenge by registering: a relay could have passed its own challenge to the caller, who would then
 * save and read as the relay. So a caller that binds its requests is told as which client it was authenticated. Other
 * callers may not support an aad.
 */
function bindingFor({ client, isBound }: Caller): Uint8Array<ArrayBuffer> | undefined {
  return isBound ? aadBytes(resultBinding(client.clientUuid, client.fingerprint)) : undefined
}

/** A relay must not be able to have a result encrypted with its own key. */
function assertRecipientMeant({ config }: ReadNeeds, { isBound }: Caller, recipient: ClientKey | undefined): void {
  if (!recipient || isBound || config.v1Read === 'recipient') return
  const message = "Results are encrypted to the client's key unless the auth_envelope is bound to another key."
  throw new ServiceError('invalid_field', { field: 'recipient_public_key', message })
}

/** Contains values exactly as the JSON texts that were saved. */
async function resultOf(
  { database, items }: ReadNeeds,
  { client }: Caller,
  namespace: string,
  keys: readonly string[],
): Promise<{ text: string; found: number }> {
  const ids = keys.map((key) => itemId(client.lookupKey, namespace, key))
  const stored = await items.find(database.queries, client.clientUuid, ids)
  const found = new Map(stored.map((item) => [item.itemId, item]))
  const texts: string[] = []
  const missing: string[] = []
  for (const [index, key] of keys.entries()) {
    const item = found.get(ids[index] ?? '')
    if (item) texts.push(itemText(key, readContent(item.content), item.updatedAt))
    else missing.push(key)
  }
  const head = `"v":"${version}","type":"kv.read.result","namespace":${JSON.stringify(namespace)}`
  const text = `{${head},"items":[${texts.join(',')}],"missing":${JSON.stringify(missing)}}`
  return { text, found: texts.length }
}

function itemText(key: string, { value, metadata }: { value: string; metadata: string }, updatedAt: Date): string {
  const time = JSON.stringify(updatedAt.toISOString())
  return `{"key":${JSON.stringify(key)},"value":${value},"metadata":${metadata},"updated_at":${time}}`
}
