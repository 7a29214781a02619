/** An agent whose grant asks for each call that changes something, and the person who decides. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../src/platform/database/database.ts'
import { startCalling } from './calling.ts'
import type { Calling, CallingOptions } from './calling.ts'
import { pairDevice } from './device.ts'
import type { TestDevice } from './device.ts'
import type { Reply } from './service.ts'

export interface HeldCallTest extends Calling {
  user: { userId: string; token: string; cookie: string }
  /** A call that asks: a POST with a small JSON body, unless the members say otherwise. */
  ask: (members?: object, headers?: Record<string, string>) => Promise<Reply>
  /** The same, which must be held. Returns its call_id. */
  held: (members?: object) => Promise<string>
  /** As the agent. */
  read: (callId: string, headers?: Record<string, string>) => Promise<Reply>
  /** Waits until the call has ended. Returns what its agent reads. */
  ended: (callId: string) => Promise<any>
  /** As the person. */
  see: (callId: string) => Promise<Reply>
  waiting: () => Promise<any[]>
  approve: (callId: string, body?: object, token?: string) => Promise<Reply>
  deny: (callId: string, body?: object, token?: string) => Promise<Reply>
  cancel: (callId: string) => Promise<Reply>
  device: () => Promise<TestDevice>
}

/** Sessions do not expire when the test moves the clock. */
const patient = { SALLYPORT_SESSION_IDLE_SECONDS: '31536000', SALLYPORT_SESSION_SECONDS: '31536000' }

export async function startHeldCalls(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  { terms, settings, ...options }: CallingOptions = {},
): Promise<HeldCallTest> {
  const calling = await startCalling(t, engine, {
    ...options,
    settings: { ...patient, ...settings },
    terms: { mode: 'ask_writes', ...terms },
  })
  return heldCallsOf(calling)
}

export async function heldCallsOf(calling: Calling): Promise<HeldCallTest> {
  const { service, agent, grantId, upstream } = calling
  const { call } = service
  const user = await service.logIn({ user_id: calling.userId })
  const ask: HeldCallTest['ask'] = (members = {}, headers = {}) =>
    call('POST', '/v4/proxy', {
      token: agent.token,
      headers,
      body: { grant_id: grantId, method: 'POST', url: upstream.url, body: { text: 'hello' }, ...members },
    })
  const read: HeldCallTest['read'] = (callId, headers = {}) =>
    call('GET', `/v4/calls/${callId}`, { token: agent.token, headers })
  let paired: Promise<TestDevice> | undefined
  return {
    ...calling,
    user,
    ask,
    held: async (members) => {
      const { status, body, text } = await ask(members)
      assert.equal(status, 202, text)
      return (body as { call_id: string }).call_id
    },
    read,
    ended: async (callId) => {
      for (let tries = 0; tries < 400; tries++) {
        const { body, text } = await read(callId)
        const { status } = body as { status: string }
        if (!['waiting', 'approved', 'running'].includes(status)) return body as unknown
        assert.ok(tries < 399, text)
        await sleep(25)
      }
      return undefined
    },
    see: (callId) => call('GET', `/v4/calls/${callId}`, { token: user.token }),
    waiting: async () => {
      const { body } = await call('GET', '/v4/calls?status=waiting', { token: user.token })
      return (body as { calls: unknown[] }).calls
    },
    approve: (callId, body, token = user.token) => call('POST', `/v4/calls/${callId}/approve`, { token, body }),
    deny: (callId, body, token = user.token) => call('POST', `/v4/calls/${callId}/deny`, { token, body }),
    cancel: (callId) => call('POST', `/v4/calls/${callId}/cancel`, { token: agent.token }),
    device: () => (paired ??= pairDevice(service, user)),
  }
}
