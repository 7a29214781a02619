/** Calls that a person has to approve: waits for a bounded time, then returns the link for the model to show. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { SallyportError } from '@sallyport/sdk'
import type { WaitingCall } from '@sallyport/sdk'
import { progressOf } from './decision.ts'
import type { Extra } from './decision.ts'
import { facts } from './tool-results.ts'

const progressMs = 3000

interface Wait {
  waitMs: number
  onWaiting: (call: WaitingCall) => void
}

/** Reports progress while a person decides. The result says where they do, if they have not in time. */
export async function boundedWait(
  extra: Extra,
  seconds: number,
  make: (wait: Wait) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  let timer: NodeJS.Timeout | undefined
  const onWaiting = ({ approvalUrl }: WaitingCall) => {
    clearInterval(timer)
    const report = progressOf(extra, seconds, `A person has to approve this call at ${approvalUrl}`)
    report()
    timer = setInterval(report, progressMs)
  }
  try {
    return await make({ waitMs: seconds * 1000, onWaiting })
  } catch (error) {
    if (!(error instanceof SallyportError) || error.code !== 'approval_pending' || !error.call) throw error
    return waiting(error.call)
  } finally {
    clearInterval(timer)
  }
}

function waiting({ callId, approvalUrl, expiresAt }: WaitingCall): CallToolResult {
  return facts({
    status: 'waiting',
    call_id: callId,
    approval_url: approvalUrl,
    expires_at: expiresAt,
    next: 'The call was neither made nor denied: a person has to approve it. Show approval_url to them, unchanged, and ask them to decide there. Then call call_result with call_id. Do not make the call again, and do not replace it by another one.',
  })
}
