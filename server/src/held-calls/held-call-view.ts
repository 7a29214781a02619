import type { AgentCall, CallReceipt, PersonCall, Repeat as RepeatView } from '@sallyport/protocol/calls'
import { errorKinds } from '@sallyport/protocol/errors'
import type { Config } from '../config/config.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { approvalUrl, errorOf } from './held-call.ts'
import type { HeldCall } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'
import type { Repeat } from './repeat.ts'

export interface CallViewNeeds {
  config: Pick<Config, 'baseUrl'>
  database: Database
  grants: GrantStore
  heldCallStore: HeldCallStore
}

/** Without its response, which can be long. */
export async function agentView(
  needs: CallViewNeeds,
  call: HeldCall,
  { hasResponse = call.error === null } = {},
): Promise<AgentCall> {
  const { description } = await needs.heldCallStore.openShown(needs.database.queries, call)
  return {
    call_id: call.callId,
    status: call.status,
    approval_url: approvalUrl(needs.config.baseUrl, call.callId),
    grant_id: call.grantId,
    method: description.method,
    url: description.url,
    access: call.access,
    created_at: call.createdAt.toISOString(),
    expires_at: call.expiresAt.toISOString(),
    decided_at: call.decidedAt?.toISOString() ?? null,
    denial_reason: call.denialReason,
    response: null,
    error: call.status === 'done' && !hasResponse ? errorView(errorOf(call)) : null,
  }
}

function errorView({ code, publicMessage }: ServiceError): AgentCall['error'] {
  const { message, status, retryable } = errorKinds[code]
  return { code, message: publicMessage ?? message, status, retryable }
}

export async function personViews(needs: CallViewNeeds, calls: readonly HeldCall[]): Promise<PersonCall[]> {
  const { queries } = needs.database
  const described = await needs.grants.describe(queries, [...new Set(calls.map(({ grantId }) => grantId))])
  return Promise.all(
    calls.map(async (call) => {
      const shown = await needs.heldCallStore.openShown(queries, call)
      const about = described.get(call.grantId)
      const { description, sentence, details, body, reason, repeatScope } = shown
      return {
        call_id: call.callId,
        status: call.status,
        agent: { agent_id: call.agentId, name: about?.agentName ?? '' },
        provider: about?.providerSlug ?? null,
        provider_name: about?.providerName ?? null,
        account_label: about?.accountLabel ?? null,
        access: call.access,
        ...{ sentence, details, description, digest: call.digest, body, reason, term: call.term },
        repeat: repeatScope === null ? null : { scope: repeatScope },
        created_at: call.createdAt.toISOString(),
        expires_at: call.expiresAt.toISOString(),
        decided_at: call.decidedAt?.toISOString() ?? null,
        decided_by: call.decidedBy,
        signed: call.decision?.signature != null,
        upstream_status: call.upstreamStatus,
      }
    }),
  )
}

export async function personView(needs: CallViewNeeds, call: HeldCall): Promise<PersonCall> {
  const [view] = await personViews(needs, [call])
  if (!view) throw new Error('a call has a view')
  return view
}

/** Proves the decision without the service. */
export async function receiptOf({ database, heldCallStore }: CallViewNeeds, call: HeldCall): Promise<CallReceipt> {
  const { decision, decidedBy, decidedAt } = call
  if (!decision || decidedBy === null || !decidedAt) {
    throw new ServiceError('not_found', { message: 'Nobody has decided on this call, so there is no receipt.' })
  }
  const { description } = await heldCallStore.openShown(database.queries, call)
  return {
    call_id: call.callId,
    signed: decision.signature !== null,
    ...decision,
    description,
    decided_by: decidedBy,
    decided_at: decidedAt.toISOString(),
  }
}

export async function repeatViews(needs: CallViewNeeds, repeats: readonly Repeat[]): Promise<RepeatView[]> {
  const ids = [...new Set(repeats.map(({ grantId }) => grantId))]
  const described = await needs.grants.describe(needs.database.queries, ids)
  return repeats.map(({ repeatId, agentId, grantId, shown, callsLeft, createdAt, expiresAt }) => ({
    repeat_id: repeatId,
    agent: { agent_id: agentId, name: described.get(grantId)?.agentName ?? '' },
    grant_id: grantId,
    provider_name: described.get(grantId)?.providerName ?? null,
    ...shown,
    calls_left: callsLeft,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }))
}
