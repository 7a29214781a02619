/** An agent whose every call has to be approved, and the person who decides, for tests of the clients. */
import assert from 'node:assert/strict'
import { createAgentClient, createUserClient, SallyportError } from '@sallyport/sdk'
import type { AgentClient, UserClient, WaitingCall } from '@sallyport/sdk'
import type { AgentSide } from './agent-side.ts'

export interface HeldAgent {
  agent: AgentClient
  user: UserClient
  token: string
  /** Asks for each call. */
  grantId: string
  /** How many requests with this in their path the upstream got. */
  reached: (path: string) => number
  statusOf: (callId: string) => Promise<string>
  /** The id of a call that waits. */
  hold: (call: object) => Promise<string>
}

export async function startHeldAgent({ admitted, base, personToken, requests }: AgentSide): Promise<HeldAgent> {
  const { token, grantId } = await admitted({ mode: 'ask_all' })
  const agent = createAgentClient({ baseUrl: base, token })
  return {
    agent,
    user: createUserClient({ baseUrl: base, token: personToken }),
    token,
    grantId,
    reached: (path) => requests.filter((line) => line.includes(path)).length,
    statusOf: async (callId) => (await agent.calls.get(callId)).status,
    hold: async (call) => {
      const wanted = { grant_id: grantId, method: 'GET', url: '', ...call }
      const { code, call: waiting } = await failure(agent.proxy(wanted, { waitMs: 0 }))
      assert.equal(code, 'approval_pending')
      return waiting?.callId ?? assert.fail()
    },
  }
}

/** Decides on each call as soon as its client hears of it. */
export function deciding(decide: (call: WaitingCall) => Promise<unknown>) {
  const decisions: Promise<unknown>[] = []
  return {
    onWaiting: (call: WaitingCall) => {
      decisions.push(decide(call))
    },
    made: () => Promise.all(decisions),
  }
}

export async function failure(work: Promise<unknown>): Promise<SallyportError> {
  const error: unknown = await work.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof SallyportError, String(error))
  return error
}
