/** What an agent did before with what the same person granted it. */
import type { AccessRequest } from '@sallyport/sdk'
import { count } from '../../ui/words.ts'

export type History = NonNullable<AccessRequest['history']>

export function describeHistory({ grants, active_grants: active, calls }: History): string {
  if (grants === 0) return 'Nothing: you have never granted it anything.'
  const made = calls === 0 ? 'no call' : count(calls, 'call')
  return `You have granted it access ${times(grants)}; ${holding(grants, active)}. It made ${made} with it.`
}

function holding(grants: number, active: number): string {
  if (active === 0) return 'none of it holds any more'
  return active === grants ? 'all of it still holds' : `${active} of them still ${active === 1 ? 'holds' : 'hold'}`
}

function times(number: number): string {
  return number === 1 ? 'once' : number === 2 ? 'twice' : `${number.toLocaleString('en')} times`
}
