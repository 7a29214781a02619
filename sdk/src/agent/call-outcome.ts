/** What became of a call that waited for a person: its response, or an error that says whether it was made. */
import { SallyportError } from '../errors.ts'
import type { ErrorFacts, WaitingCall } from '../errors.ts'
import type { AgentCall, HeldReply, ProxyReply } from '../wire.ts'

/** Whether the service holds the call instead of having made it. An envelope's `status` is a number. */
export function isHeld(reply: ProxyReply | HeldReply): reply is HeldReply {
  return reply.status === 'waiting' && typeof reply.call_id === 'string'
}

export function waitingCall({ call_id, approval_url, expires_at }: HeldReply | AgentCall): WaitingCall {
  return { callId: call_id, approvalUrl: approval_url, expiresAt: expires_at }
}

/** The response. Undefined while the call waits or runs. Throws if there will be none. */
export function replyOf(call: AgentCall): ProxyReply | undefined {
  const { status, denial_reason: reason, response, error } = call
  const fail = (code: SallyportError['code'], message: string, facts: ErrorFacts) =>
    new SallyportError(code, message, { ...facts, call: waitingCall(call) })
  if (status === 'denied') {
    const words = reason === null ? '' : ` They said: “${reason}”`
    const message = `A person denied this call. Do not make it again unless they ask for it.${words}`
    throw fail('call_denied', message, { status: 403, denialReason: reason ?? undefined })
  }
  if (status === 'expired') {
    const message = 'Nobody decided on this call in time. It was not denied: tell the person, and make it again.'
    throw fail('call_expired', message, { status: 410 })
  }
  if (status === 'cancelled') {
    const message = 'The call was cancelled before it was made: by its agent, or because its grant ended.'
    throw fail('call_cancelled', message, { status: 409 })
  }
  if (status === 'done' && response) return response
  if (status === 'done' && error) {
    throw fail(error.code, error.message, { status: error.status, retryable: error.retryable })
  }
  if (status === 'done' || status === 'unknown') {
    const message =
      'The service stopped while it made this call, so the API may have received it. Check before you repeat it.'
    throw fail('outcome_unknown', message, { status: 409 })
  }
  return undefined
}

/** For a caller that stops waiting. The call stays open. */
export function callPending(call: HeldReply | AgentCall): SallyportError {
  const { status, call_id: id, approval_url: url } = call
  const message =
    status === 'waiting'
      ? `A person has to approve this call first: ${url} . It was neither made nor denied, and waits as ${id}.`
      : `A person has approved this call, and it is being made as ${id}.`
  return new SallyportError('approval_pending', message, { status: 503, call: waitingCall(call) })
}
