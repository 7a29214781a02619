/** One value under a name. Neither the value nor its name can be read where it is stored. */
import { createHmac } from 'node:crypto'
import type { Secret } from '../platform/secret.ts'

export interface StoredItem {
  itemId: string
  /** See `writeContent`. */
  content: Secret
  updatedAt: Date
}

/** What a row counts for besides its content. */
const rowBytes = 256

/** The same name has another id for every client: nothing can be found by guessing names. */
export function itemId(lookupKey: Secret, namespace: string, key: string): string {
  return createHmac('sha256', Buffer.from(lookupKey.reveal(), 'base64url'))
    .update(JSON.stringify([namespace, key]))
    .digest('base64url')
}

export function itemSize(content: string): number {
  return rowBytes + Buffer.byteLength(content)
}

/** Value and metadata as the JSON texts that they came as: what was not understood can't have been changed. */
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
