import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { User } from '../sessions/user.ts'
import type { Repeat } from './repeat.ts'
import type { RepeatStore } from './repeat-store.ts'

export interface RevokeRepeatNeeds {
  database: Database
  repeats: RepeatStore
  audit: AuditWriter
  clock: Clock
}

/** From now on such calls wait for the user again. */
export async function revokeRepeat(
  { database, repeats, audit, clock }: RevokeRepeatNeeds,
  { userId }: User,
  repeatId: string,
  requestId: string,
): Promise<Repeat> {
  return database.transaction(async (tx) => {
    const now = clock()
    const revoked = await repeats.revoke(tx, userId, repeatId, now)
    if (!revoked) throw new ServiceError('not_found')
    const detail = { repeat_id: repeatId }
    const { agentId, grantId } = revoked
    await audit.append(tx, { event: 'repeat.revoked', at: now, requestId, userId, agentId, grantId, detail })
    return revoked
  })
}
