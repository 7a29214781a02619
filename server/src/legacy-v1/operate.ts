/**
 * What every authenticated operation shares: the challenge is used up, the operation done, the next challenge issued and
 * all of it put on record in one transaction. Of N that race with one challenge one succeeds; a refusal leaves it active.
 */
import type { AuditEvent } from '@sallyport/protocol/audit'
import type { AuditRecord } from '../audit/audit-record.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { AuthenticateNeeds, Caller } from './authenticate-client.ts'
import { assertUsable } from './challenge.ts'
import { newChallenge } from './issue-challenge.ts'
import type { IssuedChallenge, IssueNeeds, Recipient } from './issue-challenge.ts'

export interface OperateNeeds extends AuthenticateNeeds, IssueNeeds {
  config: AuthenticateNeeds['config'] & IssueNeeds['config']
  audit: AuditWriter
}

export interface Operation {
  event: Extract<AuditEvent, `v1.${string}`>
  /** Who gets the next challenge, where it is not the key that the caller has now. */
  recipient?: Recipient
  /** Queries and nothing else: what it throws undoes the whole. */
  act: (tx: Queries, now: Date) => Promise<NonNullable<AuditRecord['detail']>>
  /** The id of the HTTP request, for the record. */
  requestId: string
}

export async function operate(needs: OperateNeeds, caller: Caller, operation: Operation): Promise<IssuedChallenge> {
  const { database, clients, challenges, audit, clock } = needs
  const { client, challenge } = caller
  const { clientUuid } = client
  // Before the transaction: it may hold nothing but queries.
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
      ...{ event: operation.event, at: now, requestId: operation.requestId },
      detail: { client_uuid: clientUuid, v1_request_id: caller.auth.requestId, ...detail },
    })
  })
  return next
}
