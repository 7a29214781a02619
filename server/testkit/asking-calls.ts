/** Calls that wait, for tests of routes: nothing is at their host. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestDevice } from './device.ts'
import type { TestService } from './service.ts'

export interface Asking extends Pick<TestService, 'call'> {
  agent: { token: string }
  me: { token: string }
  device: () => Promise<TestDevice>
  connectionId: () => Promise<string>
  /** An access request of the agent for the provider of the connection. */
  asked: () => Promise<string>
}

/** A read that waits for its user. */
async function heldRead({ call, agent, me, connectionId, asked }: Asking): Promise<string> {
  const path = `/v4/access-requests/${await asked()}/approve`
  const body = { connection_id: await connectionId(), mode: 'ask_all' }
  const { body: grant } = await call('POST', path, { token: me.token, body })
  const url = `https://${String(grant.allowed_hosts[0])}/things`
  const asking = { grant_id: grant.grant_id as string, method: 'GET', url }
  const reply = await call('POST', '/v4/proxy', { token: agent.token, body: asking })
  assert.equal(reply.status, 202, reply.text)
  return reply.body.call_id as string
}

async function signedVerdict({ call, device }: Asking, callId: string, verdict: 'approve' | 'deny') {
  const { token, sign } = await device()
  const { body } = await call('POST', `/v4/calls/${callId}/challenge`, { token })
  const { challenge_id, signing_input } = body as { challenge_id: string; signing_input: Record<string, string> }
  return { challenge_id, signature: sign(signing_input[verdict] ?? '') }
}

async function approvalOf({ call, me }: Asking, callId: string) {
  const { body } = await call('GET', `/v4/calls/${callId}`, { token: me.token })
  return { call_id: callId, digest: body.digest as string, verdict: 'approve' }
}

/** The id of an approval that repeats. */
async function repeatedRead(asking: Asking): Promise<string> {
  const { call, agent, me } = asking
  const id = await heldRead(asking)
  await call('POST', `/v4/calls/${id}/approve`, { token: me.token, body: { repeat_for_seconds: 900 } })
  // It is made in the background, and fails.
  while ((await call('GET', `/v4/calls/${id}`, { token: agent.token })).body.status !== 'done') await sleep(10)
  const { body } = await call('GET', '/v4/calls/repeats', { token: me.token })
  return body.repeats[0].repeat_id as string
}

type Case = (asking: Asking) => Promise<{ path: string; body?: object }>

const onCall = (action: string): Case => {
  return async (asking) => ({ path: `/v4/calls/${await heldRead(asking)}/${action}` })
}
const signedOn = (action: string, verdict: 'approve' | 'deny'): Case => {
  return async (asking) => {
    const id = await heldRead(asking)
    return { path: `/v4/calls/${id}/${action}`, body: await signedVerdict(asking, id, verdict) }
  }
}

/** A request to each route that changes something about a call, by who makes it. */
const callCases: Record<string, Case> = {
  'agent POST /v4/calls/{id}/cancel': onCall('cancel'),
  'user POST /v4/calls/{id}/approve': onCall('approve'),
  'user POST /v4/calls/{id}/deny': onCall('deny'),
  'user POST /v4/calls/decide': async (asking) => {
    return { path: '/v4/calls/decide', body: { decisions: [await approvalOf(asking, await heldRead(asking))] } }
  },
  'user DELETE /v4/calls/repeats/{id}': async (asking) => {
    return { path: `/v4/calls/repeats/${await repeatedRead(asking)}` }
  },
  'device POST /v4/calls/{id}/challenge': onCall('challenge'),
  'device POST /v4/calls/{id}/approve': signedOn('approve', 'approve'),
  'device POST /v4/calls/{id}/deny': signedOn('deny', 'deny'),
  'device POST /v4/calls/decide': async (asking) => {
    const id = await heldRead(asking)
    const decision = { ...(await approvalOf(asking, id)), ...(await signedVerdict(asking, id, 'approve')) }
    return { path: '/v4/calls/decide', body: { decisions: [decision] } }
  },
}

/** The same, for a test with a world of its own. */
export function callsThat<World>(asking: (world: World) => Asking) {
  const all = Object.entries(callCases)
  return Object.fromEntries(all.map(([name, prepare]) => [name, (world: World) => prepare(asking(world))]))
}
