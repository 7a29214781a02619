/** Waits for the user's decision, with a spinner. */
import { SallyportError } from '@sallyport/sdk'
import type { AccessRequest, AgentClient } from '@sallyport/sdk'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import type { Shell } from './shell.ts'
import { shellWord } from './shell-word.ts'
import { spin } from './spinner.ts'
import { inLine } from './terminal-text.ts'
import { fromNow } from './times.ts'

/** Printed immediately for the user. Scripts also get the link in the JSON. */
export function showApprovalLink(
  { output }: Pick<Shell, 'output'>,
  { approval_url, provider_name, verified, expires_at }: AccessRequest,
): void {
  const { sayStyle } = output
  output.say(`A person has to approve access to ${inLine(provider_name)}. Send them this link:`)
  output.say(`  ${sayStyle('cyan', inLine(approval_url))}`)
  if (!verified) output.say(sayStyle('yellow', '  This provider is unverified: an agent proposed it.'))
  output.say(sayStyle('dim', `  The link expires ${fromNow(expires_at, '')}.`))
}

type Decided = Awaited<ReturnType<AgentClient['waitForGrant']>>

export async function waitForDecision(
  { output, interrupted }: Shell,
  agent: AgentClient,
  accessRequestId: string,
  timeoutSeconds: number | undefined,
): Promise<Decided> {
  const stop = spin(output, (time) => `Waiting for a decision, ${time}  (Ctrl-C stops waiting, the request stays open)`)
  const later = { hint: `Continue waiting: sallyport wait ${shellWord(accessRequestId)}` }
  try {
    return await agent.waitForGrant(accessRequestId, {
      signal: interrupted,
      ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
    })
  } catch (error) {
    if (interrupted.aborted) {
      throw new CommandFailure(exitCodes.interrupted, 'stopped waiting; the request stays open', {
        ...later,
        code: 'interrupted',
      })
    }
    if (error instanceof SallyportError && error.code === 'timeout') {
      throw new CommandFailure(exitCodes.pending, 'no decision yet; the request stays open', {
        ...later,
        code: 'pending',
      })
    }
    throw error
  } finally {
    stop()
  }
}
