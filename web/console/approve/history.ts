/** What the agent did with earlier grants of this user. */
import type { AccessRequest } from '@sallyport/sdk'
import { count } from '../../ui/words.ts'

export type History = NonNullable<AccessRequest['history']>

export function describeHistory({ grants, active_grants: active, calls }: History): string {
  if (grants === 0) return 'You have never granted it access.'
  const made = calls === 0 ? 'no calls' : count(calls, 'call')
  return `You have granted it access ${times(grants)}; ${holding(grants, active)}. It has made ${made}.`
}

function holding(grants: number, active: number): string {
  if (grants === 1) return active === 0 ? 'that grant has ended' : 'that grant is still active'
  if (active === 0) return 'all of those grants have ended'
  if (active === grants) return 'all of those grants are still active'
  return `${active} of those grants ${active === 1 ? 'is' : 'are'} still active`
}

function times(number: number): string {
  return number === 1 ? 'once' : number === 2 ? 'twice' : `${number.toLocaleString('en')} times`
}
