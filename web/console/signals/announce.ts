/** Which waiting items a desktop notification is shown for, and what it says. It has nothing of a call's content. */
import type { AccessRequest, PersonCall } from '@sallyport/sdk'
import { revealed, shortened } from '../../ui/others-text.ts'

export interface Waiting {
  id: string
  agentId: string
  /** Items with the same one share a limit. */
  limitedWith: string
  title: string
  body: string
  /** Where it is decided. */
  path: string
}

type Asking = { agent: Pick<AccessRequest['agent'], 'agent_id' | 'name'> }
type Asked = Pick<AccessRequest, 'access_request_id' | 'provider_name'> & Asking
type Held = Pick<PersonCall, 'call_id'> & Asking

export function waitingItems(requests: readonly Asked[], calls: readonly Held[]): Waiting[] {
  return [
    ...requests.map(({ access_request_id: id, agent, provider_name: provider }) => ({
      ...{ id, agentId: agent.agent_id, limitedWith: 'requests', path: `/approve-proxy/${id}` },
      title: 'A request for access waits for you',
      body: `“${inQuotes(agent.name)}” (not verified) asks for access to “${inQuotes(provider)}”.`,
    })),
    ...calls.map(({ call_id: id, agent }) => ({
      ...{ id, agentId: agent.agent_id, limitedWith: agent.agent_id, path: `/approve-call/${id}` },
      title: 'A call waits for you',
      body: `“${inQuotes(agent.name)}” (not verified) asks you to approve a call.`,
    })),
  ]
}

/** It could end the quotation with one of its own. */
const quotationMarks = /["“”„‟«»〝〞〟＂]/gu

function inQuotes(name: string): string {
  const seen = revealed(name.replaceAll(/\s+/gu, ' ')).filter((part) => typeof part === 'string')
  return shortened(seen.join('').replaceAll(quotationMarks, '’'), 40)
}

/** Returns a function that picks what is new: each item once. What is there at first is not new. */
export function createPicker() {
  let known: Set<string> | undefined
  return (items: readonly Waiting[]): Waiting[] => {
    const fresh = known ? items.filter(({ id }) => !known?.has(id)) : []
    known = new Set([...(known ?? []), ...items.map(({ id }) => id)])
    return fresh
  }
}

const most = 3
const withinMs = 10 * 60_000

/**
 * Returns a function that lets through, in 10 minutes, at most 3 requests, because anyone can register many agents, and 3
 * calls of each agent, which need a grant.
 */
export function createLimit() {
  const timesOf = new Map<string, number[]>()
  const trySpend = (limit: string, now: number): boolean => {
    const recent = (timesOf.get(limit) ?? []).filter((time) => now - time < withinMs)
    const isAllowed = recent.length < most
    timesOf.set(limit, isAllowed ? [...recent, now] : recent)
    return isAllowed
  }
  return (items: readonly Waiting[], now: number): Waiting[] =>
    items.filter(({ limitedWith }) => trySpend(limitedWith, now))
}
