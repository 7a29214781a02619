import type { Grant } from '@sallyport/sdk'
import { toTellApart } from '../choose-grant.ts'

/** What a model needs to know of a grant to use it, and to tell it from another. */
export function grantFacts(grant: Grant) {
  const { status, calls, max_calls } = grant
  return { ...toTellApart(grant), status, calls, max_calls }
}
