/** Describes the chosen terms in plain language, and their risks. */
import type { AccessRequest, ApproveBody, Grant } from '@sallyport/sdk'
import { shortened } from '../../ui/others-text.ts'
import { count, listOf, listOfFew, theirs } from '../../ui/words.ts'
import type { Words } from '../../ui/words.ts'
import { isReading, isWildcard, lastings } from './terms.ts'
import type { Asked, Choices } from './terms.ts'

export interface Terms {
  hosts: readonly string[]
  /** Null for any. */
  methods: readonly string[] | null
  paths: readonly string[] | null
  calls: number | null
  lasting: string
  hasEnd: boolean
}

export function termsOf(asked: Asked, decision: ApproveBody, { lasting }: Choices, formatMoment: Format): Terms {
  const { expires_at: end } = decision
  return {
    hosts: decision.allowed_hosts ?? [],
    methods: decision.allowed_methods ?? asked.methods,
    paths: decision.allowed_paths ?? asked.paths,
    calls: decision.max_calls ?? asked.max_calls,
    lasting:
      end === undefined ? endless : lasting === 'date' ? `until ${formatMoment(end)}` : `for ${lastings[lasting]}`,
    hasEnd: end !== undefined,
  }
}

export function termsOfGrant(grant: Grant, formatMoment: Format): Terms {
  const { expires_at: end } = grant
  return {
    hosts: grant.allowed_hosts,
    methods: grant.allowed_methods,
    paths: grant.allowed_paths,
    calls: grant.max_calls,
    lasting: end === null ? endless : `until ${formatMoment(end)}`,
    hasEnd: end !== null,
  }
}

type Format = (moment: string) => string
const endless = 'until you revoke it'

/** Longer names are shortened, so that they can't read like a sentence. */
const longestName = 60
const longestPath = 120

export function sentence(agent: string, account: string, terms: Terms): Words {
  const { hosts, methods, paths, calls, lasting } = terms
  return [
    theirs(shortened(agent, longestName)),
    ` may ${doing(methods)} (`,
    ...(methods ? listOf(methods) : ['any method']),
    ') on ',
    ...listOfFew(hosts),
    ...(paths ? [', under ', ...listOfFew(paths.map((path) => shortened(path, longestPath)))] : []),
    ', using the account ',
    theirs(shortened(account, longestName)),
    `, ${lasting}`,
    calls === null ? '.' : `, up to ${count(calls, 'call')}.`,
  ]
}

/** Anything that is not read-only may delete: at many providers a POST can. */
export function doing(methods: Terms['methods']): string {
  const canRead = methods === null || methods.some(isReading)
  const canChange = methods === null || !methods.every(isReading)
  return canRead && canChange ? 'read, change and delete' : canRead ? 'only read' : 'change and delete'
}

export const unverifiedProvider = 'This provider is unverified: an agent proposed it and chose its name.'

/** The risks of these terms. */
export function risksOf(request: Pick<AccessRequest, 'verified'>, terms: Terms): Words[] {
  const wide = terms.hosts.filter(isWildcard)
  return [
    ...(request.verified ? [] : [[unverifiedProvider]]),
    ...(wide.length === 0 ? [] : [[...listOfFew(wide), ' covers every subdomain, no matter who runs it.']]),
    ...(terms.methods === null ? [['Any method: it can change and delete anything the account can.']] : []),
    ...(terms.hasEnd ? [] : [['No expiry: it stays active until you revoke it.']]),
  ]
}
