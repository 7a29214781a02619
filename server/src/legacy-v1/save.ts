import type { Envelope, EnvelopeParts } from '@sallyport/protocol/v1/envelope'
import { entryTexts } from '@sallyport/protocol/v1/json-members'
import { Malformed } from '@sallyport/protocol/v1/malformed'
import { maxItemMetadataBytes, maxValueBytes, readSavePayload } from '@sallyport/protocol/v1/payloads'
import type { Config } from '../config/config.ts'
import { ServiceError } from '../platform/errors.ts'
import { authenticateClient, openPayload } from './authenticate-client.ts'
import type { IssuedChallenge } from './issue-challenge.ts'
import { itemId, writeContent } from './item.ts'
import type { Content } from './item.ts'
import type { ItemStore, Usage } from './item-store.ts'
import { operate } from './operate.ts'
import type { OperateNeeds } from './operate.ts'

export interface SaveNeeds extends OperateNeeds {
  config: OperateNeeds['config'] & Pick<Config, 'v1KeysPerClient' | 'v1BytesPerClient' | 'v1BytesInAll'>
  items: ItemStore
}

export interface Opened {
  envelope: Envelope
  parts: EnvelopeParts
}

export async function saveItems(
  needs: SaveNeeds,
  auth: EnvelopeParts,
  data: Opened,
  requestId: string,
): Promise<IssuedChallenge & { savedCount: number }> {
  const { config, database, items, clock } = needs
  const caller = await authenticateClient(needs, auth, 'kv.save', { data_envelope: data.envelope })
  const { clientUuid, lookupKey } = caller.client
  const contents = await openPayload(needs, caller, 'data_envelope', data.parts, contentsIn)
  const inAll = await items.bytesInAll(database.queries, clock())
  let growth = 0
  const issued = await operate(needs, caller, {
    event: 'v1.saved',
    act: async (tx, now) => {
      for (const content of contents) {
        const id = itemId(lookupKey, content.namespace, content.key)
        await items.put(tx, clientUuid, id, writeContent(content), now)
      }
      const usage = await items.count(tx, clientUuid)
      assertRoom(config, usage, inAll)
      growth = usage.growth
      return { saved_count: contents.length }
    },
    requestId,
  })
  items.addToAll(growth)
  return { ...issued, savedCount: contents.length }
}

function contentsIn(json: unknown, text: string): Content[] {
  const { namespace, items } = readSavePayload(json)
  const texts = entryTexts(text)
  return items.map(({ key }, index) => ({
    ...{ namespace, key },
    value: fitting('value', texts[index]?.get('value') ?? '', maxValueBytes),
    metadata: fitting('metadata', texts[index]?.get('metadata') ?? '{}', maxItemMetadataBytes),
  }))
}

/** Whitespace counts, because the text is stored as received. */
function fitting(what: string, text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) > maxBytes) throw new Malformed(`${what}: more than ${maxBytes} bytes of JSON`)
  return text
}

function assertRoom(config: SaveNeeds['config'], { keys, bytes, growth }: Usage, inAll: number): void {
  if (keys > config.v1KeysPerClient || bytes > config.v1BytesPerClient) {
    const message = `A client can store at most ${config.v1KeysPerClient} keys and ${config.v1BytesPerClient} bytes. Save less.`
    throw new ServiceError('payload_invalid', { field: 'data_envelope', message })
  }
  if (growth > 0 && inAll + growth > config.v1BytesInAll) {
    const message = 'The service has reached its storage limit. Ask the operator.'
    throw new ServiceError('rate_limited', { message, retryAfterSeconds: 3600 })
  }
}
