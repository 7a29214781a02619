/** Waits for the user's decision within a tool call. */
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { CallToolResult, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js'
import { SallyportError } from '@sallyport/sdk'
import type { AccessRequest, AgentClient } from '@sallyport/sdk'
import { z } from 'zod'
import { grantFacts } from './grant-facts.ts'
import { facts, failed } from './tool-results.ts'

export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

export const waitSeconds = z
  .int()
  .min(0)
  .max(600)
  .describe('Maximum time to wait for the person. Many clients time out a tool after 60 seconds.')

/** The request, after waiting for a decision if it is still pending. */
export async function settled(
  agent: AgentClient,
  request: AccessRequest,
  seconds: number,
  extra: Extra,
  signal = extra.signal,
): Promise<CallToolResult> {
  const { access_request_id: id, provider, status } = request
  const isOpen = status === 'pending'
  if (isOpen && seconds === 0) return pending(request)
  const report = progressOf(extra, seconds)
  try {
    const timeoutMs = Math.max(1, seconds * 1000)
    const { grant_id } = await agent.waitForGrant(id, { signal, timeoutMs, onPending: report })
    return facts({
      ...(await termsOf(agent, grant_id, signal)),
      status: 'approved',
      access_request_id: id,
      provider,
      next: 'Pass grant_id to read_api or call_api. The person may have allowed less than was requested.',
    })
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error
    if (error.code === 'timeout') return pending(request)
    if (!/^access_/.test(error.code)) throw error
    const { denial_reason: reason = null } = 'request' in error ? (error.request as AccessRequest) : {}
    return failed({
      error: { code: error.code, message: endings[error.code as keyof typeof endings] },
      access_request_id: id,
      ...(reason !== null && { reason_of_the_person: reason }),
      next:
        error.code === 'access_denied'
          ? 'Do not request the same access again; tell the person what you cannot do.'
          : 'If it is still needed, request it again with request_access.',
    })
  }
}

const endings = {
  access_denied: 'The person denied the request.',
  access_expired: 'The request expired without a decision.',
  access_cancelled: 'The request was cancelled.',
}

export function pending({ access_request_id, approval_url, provider, expires_at }: AccessRequest): CallToolResult {
  return facts({
    status: 'pending',
    access_request_id,
    provider,
    approval_url,
    expires_at,
    next: 'Show approval_url to the person, unchanged, and ask them to open it and decide. Then call check_access with access_request_id.',
  })
}

async function termsOf(agent: AgentClient, grantId: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  for await (const grant of agent.grants({}, { signal })) if (grant.grant_id === grantId) return grantFacts(grant)
  return { grant_id: grantId }
}

/** Sends progress notifications if the client asked for them. */
export function progressOf(
  { _meta, sendNotification }: Extra,
  total: number,
  message = 'Waiting for the person to decide',
): () => void {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return () => undefined
  const started = Date.now()
  let last = 0
  return () => {
    const progress = Math.max(last + 0.001, (Date.now() - started) / 1000)
    last = progress
    const params = { progressToken, progress, total, message }
    sendNotification({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}
