import { randomInt } from 'node:crypto'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { Secret } from '../platform/secret.ts'
import type { User } from '../sessions/user.ts'
import { hashPairingCode } from './hash-pairing-code.ts'
import { pairingAlphabet, pairingLength, showPairingCode } from './pairing-code.ts'
import type { PairingCodeStore } from './pairing-code-store.ts'

export interface IssuePairingCodeNeeds {
  config: Pick<Config, 'baseUrl' | 'pairingCodeSeconds' | 'pairingCodesPerHour'>
  database: Database
  pairingCodes: PairingCodeStore
  audit: AuditWriter
  clock: Clock
}

export interface IssuedPairingCode {
  pairingCode: Secret
  /** The authenticator's page. The code is in the fragment, which browsers never send to a server. */
  pairingUrl: Secret
  expiresAt: Date
}

export async function issuePairingCode(
  { config, database, pairingCodes, audit, clock }: IssuePairingCodeNeeds,
  { userId }: User,
  requestId: string,
): Promise<IssuedPairingCode> {
  // Before the hash, which is slow on purpose.
  const limit = perHour(config.pairingCodesPerHour)
  await takeFromLimit(database.queries, `pairing-code:${userId}`, limit, clock())
  const code = mintPairingCode()
  const shown = showPairingCode(code)
  const codeHash = await hashPairingCode(code)
  const createdAt = clock()
  const expiresAt = new Date(createdAt.getTime() + config.pairingCodeSeconds * 1000)
  await database.transaction(async (tx) => {
    await pairingCodes.insert(tx, { userId, createdAt, expiresAt, usedAt: null }, codeHash)
    await audit.append(tx, { event: 'pairing_code.issued', at: createdAt, requestId, userId })
  })
  return {
    pairingCode: new Secret(shown),
    pairingUrl: new Secret(`${config.baseUrl.origin}/authenticator#pairing_code=${shown}`),
    expiresAt,
  }
}

function mintPairingCode(): string {
  return Array.from({ length: pairingLength }, () => pairingAlphabet.charAt(randomInt(pairingAlphabet.length))).join('')
}
