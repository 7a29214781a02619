/**
 * What all authenticated operations share: in one transaction the challenge is consumed, the operation done, the next
 * challenge issued, and all of it audited. Of several concurrent operations with one challenge, only one succeeds. If
 * the operation is refused, the challenge stays active.
 */
import type { AuditEvent } from '@sallyport/protocol/audit'
import type { AuditRecord } from '../audit/audit-record.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { AuthenticateNeeds, Caller } from './authenticate-client.ts'
import { assertUsable } from './challenge.ts'
import { newChallenge } from './issue-challenge.ts'
import type { IssuedChallenge, IssueNeeds, Recipient } from './issue-challenge.ts'

export interface OperateNeeds extends AuthenticateNeeds, IssueNeeds {
  config: AuthenticateNeeds['config'] & IssueNeeds['config'] & Pick<Config, 'v1Registration'>
  audit: AuditWriter
}

export interface Operation {
  event: Extract<AuditEvent, `v1.${string}`>
  /** Who gets the next challenge, if it is not for the caller's current key. */
  recipient?: Recipient
  /** Queries only. If it throws, the transaction is rolled back. */
  act: (tx: Queries, now: Date) => Promise<NonNullable<AuditRecord['detail']>>
  /** The id of the HTTP request, for the audit log. */
  requestId: string
}

export async function operate(needs: OperateNeeds, caller: Caller, operation: Operation): Promise<IssuedChallenge> {
  const { config, database, clients, challenges, audit, clock } = needs
  const { client, challenge } = caller
  const { clientUuid } = client
  // Whoever may register can act: records of strangers have the shorter retention.
  const isKeptBriefly = config.v1Registration === 'open'
  // Before the transaction, which must contain queries only.
  const next = await newChallenge(needs, operation.recipient ?? client, clock())
  await database.transaction(async (tx) => {
    const generation = await clients.lock(database, tx, clientUuid)
    const now = clock()
    if (generation !== client.generation || !(await challenges.consume(tx, challenge, now))) {
      assertUsable(await challenges.find(tx, challenge.challengeId), { clientUuid, nonceHash: caller.nonceHash }, now)
      throw new ServiceError('challenge_already_used')
    }
    const detail = await operation.act(tx, now)
    await challenges.revokeActive(tx, clientUuid)
    await challenges.insert(tx, next.challenge)
    await clients.markAuthenticated(tx, clientUuid, now)
    await audit.append(tx, {
      ...{ event: operation.event, at: now, requestId: operation.requestId, isKeptBriefly },
      detail: { client_uuid: clientUuid, v1_request_id: caller.auth.requestId, ...detail },
    })
  })
  return next
}
