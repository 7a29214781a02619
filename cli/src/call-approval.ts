/** A call that a person has to approve: shows them the link and waits. Ctrl-C cancels the call. */
import { SallyportError } from '@sallyport/sdk'
import type { AgentClient, ProxyReply, WaitingCall } from '@sallyport/sdk'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import type { Output } from './output.ts'
import { shellWord } from './shell-word.ts'
import type { Shell } from './shell.ts'
import { spin } from './spinner.ts'
import { inLine } from './terminal-text.ts'
import { fromNow } from './times.ts'

interface Needs {
  shell: Pick<Shell, 'output' | 'interrupted'>
  agent: AgentClient
  isSilent: boolean
}

const lookMs = 3000

export async function throughApproval<T>(
  { shell: { output, interrupted }, agent, isSilent }: Needs,
  make: (onWaiting: (call: WaitingCall) => void) => Promise<T>,
): Promise<T> {
  let waiting: WaitingCall | undefined
  let stop = () => {}
  const onWaiting = (call: WaitingCall) => {
    waiting = call
    stop()
    if (isSilent) return
    showLink(output, call)
    stop = spin(output, (time) => `Waiting for a person, ${time}  (Ctrl-C cancels the call)`)
  }
  try {
    return await make(onWaiting)
  } catch (error) {
    stop()
    if (interrupted.aborted && waiting) throw await interruptedCall(agent, waiting)
    throw stillWaiting(error)
  } finally {
    stop()
  }
}

/** For a call that was made earlier. Ctrl-C leaves it open. */
export async function earlierCall(
  { output, interrupted }: Needs['shell'],
  agent: AgentClient,
  callId: string,
  timeoutSeconds: number | undefined,
): Promise<ProxyReply> {
  const stop = spin(output, (time) => `Waiting for a person, ${time}  (Ctrl-C stops waiting, the call stays open)`)
  const waitMs = timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000
  try {
    return await agent.calls.wait(callId, { signal: interrupted, waitMs })
  } catch (error) {
    stop()
    if (!interrupted.aborted) throw stillWaiting(error)
    throw new CommandFailure(exitCodes.interrupted, 'stopped waiting; the call stays open', {
      code: 'interrupted',
      hint: `Continue waiting: sallyport calls wait ${shellWord(callId)}`,
    })
  } finally {
    stop()
  }
}

function showLink({ say, sayStyle }: Output, { approvalUrl, expiresAt }: WaitingCall): void {
  say('A person has to approve this call. Send them this link:')
  say(`  ${sayStyle('cyan', inLine(approvalUrl))}`)
  say(sayStyle('dim', `  It expires ${fromNow(expiresAt, '')}.`))
}

/** Says what to do next if the wait is over before a decision. Any other error is returned as it is. */
function stillWaiting(error: unknown): unknown {
  if (!(error instanceof SallyportError) || error.code !== 'approval_pending' || !error.call) return error
  const { callId, approvalUrl } = error.call
  return new CommandFailure(exitCodes.pending, 'no decision yet; the call was neither made nor denied', {
    code: 'approval_pending',
    hint: `Continue waiting: sallyport calls wait ${shellWord(callId)}`,
    facts: { call_id: callId, approval_url: approvalUrl },
  })
}

/** The SDK has asked to cancel it. The person may have been faster. */
async function interruptedCall(agent: AgentClient, { callId }: WaitingCall): Promise<CommandFailure> {
  const call = await agent.calls.get(callId, { timeoutMs: lookMs }).catch(() => undefined)
  const isCancelled = call !== undefined && ['cancelled', 'denied', 'expired'].includes(call.status)
  return new CommandFailure(
    exitCodes.interrupted,
    isCancelled
      ? 'stopped; the call was cancelled and will not be made'
      : `stopped waiting, but the call could not be cancelled${call ? ` (${inLine(call.status)})` : ''}`,
    {
      code: 'interrupted',
      facts: { call_id: callId, status: call?.status ?? null },
      ...(!isCancelled && { hint: `See what became of it: sallyport calls show ${shellWord(callId)}` }),
    },
  )
}
