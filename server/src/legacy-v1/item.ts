/** A value stored under a name. In the database, the value is encrypted and the name is an HMAC. */
import { createHmac } from 'node:crypto'
import type { Secret } from '../platform/secret.ts'

export interface StoredItem {
  itemId: string
  /** See `writeContent`. */
  content: Secret
  updatedAt: Date
}

/** The size that is counted for a row in addition to its content. */
const rowBytes = 256

/** The same name has a different id for every client, so items can't be found by guessing names. */
export function itemId(lookupKey: Secret, namespace: string, key: string): string {
  return createHmac('sha256', Buffer.from(lookupKey.reveal(), 'base64url'))
    .update(JSON.stringify([namespace, key]))
    .digest('base64url')
}

export function itemSize(content: string): number {
  return rowBytes + Buffer.byteLength(content)
}

/** Value and metadata are the JSON texts as received: parsing and serializing them could change them. */
export interface Content {
  namespace: string
  key: string
  value: string
  metadata: string
}

export function writeContent({ namespace, key, value, metadata }: Content): string {
  return JSON.stringify([namespace, key, value, metadata])
}

export function readContent(content: Secret): Content {
  const [namespace, key, value, metadata] = JSON.parse(content.reveal()) as [string, string, string, string]
  return { namespace, key, value, metadata }
}
