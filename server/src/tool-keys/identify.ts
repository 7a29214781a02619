/** Who calls with a key for tools. It is looked up for every request: the key, its agent or its time may have ended. */
import { setBounded } from '../platform/cache/memoize.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Secret } from '../platform/secret.ts'
import { hashToken, isWellFormedSecret } from '../platform/tokens.ts'
import type { CallingTool } from './tool-key.ts'
import type { ToolKeyStore } from './tool-key-store.ts'

interface IdentifyToolNeeds {
  database: Database
  toolKeys: ToolKeyStore
  clock: Clock
}

export type IdentifyTool = (secret: Secret, address: string | undefined) => Promise<CallingTool | undefined>

const markedEveryMs = 60_000

export function createToolIdentifier({ database, toolKeys, clock }: IdentifyToolNeeds): IdentifyTool {
  /** When this process last marked each key as used. What is found of a key may be cached for longer. */
  const marked = new Map<string, number>()
  return async (secret, address) => {
    if (!isWellFormedSecret('key', secret)) return undefined
    const keyHash = hashToken(secret)
    const found = await toolKeys.findByHash(database.queries, keyHash)
    const now = clock()
    if (!found || found.key.expiresAt <= now) return undefined
    const { keyId } = found.key
    if (now.getTime() - (marked.get(keyId) ?? 0) >= markedEveryMs) {
      setBounded(marked, keyId, now.getTime())
      await toolKeys.markUsed(database.queries, keyId, now)
    }
    return { ...found, keyHash, address }
  }
}
