/** Waits for the user's decision, with a spinner. */
import { SallyportError } from '@sallyport/sdk'
import type { AgentClient } from '@sallyport/sdk'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import type { Shell } from './shell.ts'
import { shellWord } from './shell-word.ts'
import { spin } from './spinner.ts'

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
