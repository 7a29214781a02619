/**
 * Whether new terms of a grant allow nothing that its present ones do not. A change that is not narrower counts as an
 * approval. It errs on the side of asking: terms that it can't compare are wider.
 */
import { canonicalJson } from '@sallyport/protocol/canonical-json'
import { grantModes, maxAccesses } from '@sallyport/protocol/grant-terms'
import { coversHostPattern } from './grant.ts'
import type { Grant, GrantException } from './grant.ts'
import { coversPathPattern } from './path-pattern.ts'

export type GrantTerms = Pick<
  Grant,
  'allowedHosts' | 'allowedMethods' | 'allowedPaths' | 'maxCalls' | 'expiresAt' | 'mode' | 'exceptions' | 'maxAccess'
>

export function isNarrower(after: GrantTerms, before: GrantTerms): boolean {
  return (
    areWithin(after.allowedHosts, before.allowedHosts, coversHostPattern) &&
    areWithin(after.allowedMethods, before.allowedMethods, (outer, inner) => outer === inner) &&
    areWithin(after.allowedPaths, before.allowedPaths, coversPathPattern) &&
    isAtMost(after.maxCalls, before.maxCalls) &&
    isAtMost(after.expiresAt?.getTime() ?? null, before.expiresAt?.getTime() ?? null) &&
    grantModes.indexOf(after.mode) >= grantModes.indexOf(before.mode) &&
    isAtMost(rankOf(after.maxAccess), rankOf(before.maxAccess)) &&
    onlyAddsRefusals(after.exceptions, before.exceptions)
  )
}

/** Null: any. */
function areWithin(
  inner: readonly string[] | null,
  outer: readonly string[] | null,
  covers: (outer: string, inner: string) => boolean,
): boolean {
  if (outer === null) return true
  return inner !== null && inner.every((one) => outer.some((entry) => covers(entry, one)))
}

/** Null: no limit. */
function isAtMost(inner: number | null, outer: number | null): boolean {
  return outer === null || (inner !== null && inner <= outer)
}

function rankOf(access: Grant['maxAccess']): number | null {
  return access === null ? null : maxAccesses.indexOf(access)
}

/** Of exceptions that match, the strictest counts. One that is removed may have refused a path that reads in two ways. */
function onlyAddsRefusals(after: readonly GrantException[], before: readonly GrantException[]): boolean {
  const kept = new Set(after.map(canonicalJson))
  const known = new Set(before.map(canonicalJson))
  return (
    before.every((one) => kept.has(canonicalJson(one))) &&
    after.every((one) => one.action !== 'allow' || known.has(canonicalJson(one)))
  )
}
