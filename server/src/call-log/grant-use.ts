/** What a grant was used for, and the narrowest terms that would have allowed all of it. */
import { matchesHost } from '../providers/api-hosts.ts'
import type { Grant } from '../grants/grant.ts'
import { isNarrower } from '../grants/narrower.ts'
import { coversPathPattern, readPathPattern } from '../grants/path-pattern.ts'
import { ServiceError } from '../platform/errors.ts'

/** One request that went out. */
export interface UsedRequest {
  method: string
  host: string
  path: string
}

export type NarrowerTerms = Partial<Pick<Grant, 'allowedHosts' | 'allowedMethods' | 'allowedPaths'>>

export interface GrantUse {
  methods: string[]
  hosts: string[]
  /** Patterns that cover all paths. Null if they have too little in common. */
  paths: string[] | null
  /** Undefined if the grant allows no more than what was used. */
  suggestion: NarrowerTerms | undefined
}

/** More would be no help to a person who has to read them. */
const maxPaths = 5

export function useOf(grant: Grant, requests: readonly UsedRequest[]): GrantUse {
  const methods = distinct(requests.map(({ method }) => method))
  const hosts = distinct(requests.map(({ host }) => host))
  const paths = patternsFor(distinct(requests.map(({ path }) => path)))
  // A host of a redirect that needed no grant is not one to suggest.
  const covered = hosts.filter((host) => grant.allowedHosts.some((entry) => matchesHost(entry, host)))
  const suggested: NarrowerTerms = {
    ...(covered.length > 0 && isLess(covered, grant.allowedHosts) && { allowedHosts: covered }),
    ...(isLess(methods, grant.allowedMethods) && { allowedMethods: methods }),
    ...(paths && arePathsWithin(paths, grant) && isLess(paths, grant.allowedPaths) && { allowedPaths: paths }),
  }
  const isWorth =
    requests.length > 0 && Object.keys(suggested).length > 0 && isNarrower({ ...grant, ...suggested }, grant)
  return { methods, hosts, paths, suggestion: isWorth ? suggested : undefined }
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort()
}

function isLess(used: readonly string[], allowed: readonly string[] | null): boolean {
  return allowed === null || allowed.some((one) => !used.includes(one))
}

function arePathsWithin(paths: readonly string[], { allowedPaths }: Grant): boolean {
  return allowedPaths === null || paths.every((path) => allowedPaths.some((one) => coversPathPattern(one, path)))
}

/** The paths themselves if they are few, otherwise their beginnings: the longest that are few. */
function patternsFor(paths: readonly string[]): string[] | null {
  const deepest = Math.max(0, ...paths.map((path) => path.split('/').length - 1))
  for (let depth = deepest; depth > 0; depth--) {
    const patterns = distinct(paths.map((path) => path.split('/', depth + 1).join('/')))
    if (patterns.length > maxPaths) continue
    return patterns.every(isPattern) && !patterns.includes('/') ? patterns : null
  }
  return null
}

/** A path that was shortened on record, or that servers read in different ways, is none. */
function isPattern(path: string): boolean {
  try {
    return readPathPattern(path, 'path') === path && !path.includes('*')
  } catch (error) {
    if (error instanceof ServiceError) return false
    throw error
  }
}
