import type { Grant } from '@sallyport/sdk'
import { toTellApart } from '../choose-grant.ts'

/** The members of a grant that a model needs to use it and to distinguish it from others. */
export function grantFacts(grant: Grant) {
  const { status, calls, max_calls } = grant
  return { ...toTellApart(grant), status, calls, max_calls }
}
