/**
 * An access request for the sandbox is approved in the transaction that creates it: it gives access to no account, so
 * no approval is needed (spec v4, What 6 and Rules 5). Its terms narrow the sandbox grant, which never covers more than
 * the echo.
 */
import { echoPath } from '@sallyport/protocol/sandbox'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Grant } from '../grants/grant.ts'
import { coversPathPattern } from '../grants/path-pattern.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { AccessRequest } from './access-request.ts'
import type { AccessRequestStore } from './access-request-store.ts'
import { settleOutside } from './decide.ts'
import type { DecideNeeds } from './decide.ts'

export interface SandboxRequestNeeds extends Pick<DecideNeeds, 'providers' | 'callbacks' | 'pushes'> {
  accessRequests: AccessRequestStore
  audit: AuditWriter
  /** Starts a sandbox, subject to its rate limit. Replaces the agent's previous one. */
  openSandbox: (tx: Queries, request: AccessRequest, requestId: string, now: Date) => Promise<Grant>
}

export function assertWithinSandbox(
  baseUrl: URL,
  { hosts, paths }: { hosts: readonly string[] | undefined; paths: readonly string[] | null },
): void {
  const { host } = baseUrl
  const strange = hosts?.findIndex((one) => one !== host) ?? -1
  if (strange !== -1) {
    const message = `The sandbox has one host: "${host}". Use it, or omit "hosts".`
    throw new ServiceError('invalid_field', { field: `hosts.${strange}`, message })
  }
  if (paths && !paths.some((one) => coversPathPattern(one, echoPath))) {
    const message = `The sandbox has one path: "${echoPath}". Use it, or omit "paths".`
    throw new ServiceError('invalid_field', { field: 'paths', message })
  }
}

export async function approveSandboxRequest(
  needs: SandboxRequestNeeds,
  tx: Queries,
  request: AccessRequest,
  requestId: string,
  now: Date,
): Promise<AccessRequest> {
  const { accessRequests, audit, openSandbox } = needs
  const { accessRequestId, agentId } = request
  const { grantId } = await openSandbox(tx, request, requestId, now)
  const ending = { status: 'approved', by: null, on: null, grantId } as const
  const approved = await accessRequests.end(tx, accessRequestId, ending, now)
  if (!approved) throw new Error('the request was created in this transaction')
  await settleOutside(needs, tx, approved, now)
  const detail = { access_request_id: accessRequestId, by: 'sandbox' }
  await audit.append(tx, { event: 'access_request.approved', at: now, requestId, agentId, grantId, detail })
  return approved
}
