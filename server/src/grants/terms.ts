/**
 * What the terms of a grant say about a call that it covers: whether the call is made, waits for a person, or is refused.
 * Pure. It relies on the methods and path readings being all those that an upstream might take the call for.
 */
import { accessClasses } from '@sallyport/protocol/grant-terms'
import type { AccessClass, ExceptionAction } from '@sallyport/protocol/grant-terms'
import { memoizeByText } from '../platform/cache/memoize.ts'
import { ServiceError } from '../platform/errors.ts'
import { compilePath, matchesRule } from '../providers/presets/api-path.ts'
import type { PathRule } from '../providers/presets/api-path.ts'
import { readingsOf } from '../providers/presets/path-readings.ts'
import type { PathReading } from '../providers/presets/path-readings.ts'
import type { Grant, GrantException } from './grant.ts'
import { coversAnyPath, readsInOneWay } from './path-pattern.ts'

type Terms = Pick<Grant, 'mode' | 'exceptions' | 'maxAccess'>

/** The part of a call that the terms look at. */
export interface TermsCall {
  access: AccessClass
  /** Its own, and those of method overrides. */
  methods: readonly string[]
  /** As written in its URL, and the ways in which a server might interpret it. */
  path: string
  readings: readonly PathReading[]
  /**
   * Whether it may do more than what is at its path: `operations` of a body or a query (GraphQL), or things at other
   * `paths` (a batch, a copy).
   */
  reaches?: 'operations' | 'paths' | undefined
}

export interface TermsVerdict {
  action: ExceptionAction
  /** The term that decides: `mode`, `max_access`, or `exceptions.0` for the first exception. */
  term: string
  /** Its path can be read in several ways, and an exception covers one of them. */
  isAmbiguous?: boolean
}

/** False if every call that the grant covers is made, whatever it does. */
export function hasTerms({ mode, exceptions, maxAccess }: Terms): boolean {
  return mode !== 'allow_all' || maxAccess !== null || exceptions.length > 0
}

export function termsVerdict({ mode, exceptions, maxAccess }: Terms, call: TermsCall): TermsVerdict {
  if (maxAccess !== null && isAbove(call.access, maxAccess)) return { action: 'deny', term: 'max_access' }
  return (
    (exceptions.length > 0 ? byExceptions(exceptions, call) : undefined) ?? {
      action: mode === 'ask_all' || (mode === 'ask_writes' && call.access !== 'read') ? 'ask' : 'allow',
      term: 'mode',
    }
  )
}

/** Throws if the terms refuse the call. */
export function assertNotDenied(
  { action, term, isAmbiguous }: TermsVerdict,
  { maxAccess }: Pick<Terms, 'maxAccess'>,
): void {
  if (action !== 'deny') return
  if (term === 'max_access') {
    const most = maxAccess === 'read' ? 'only calls that read' : 'reads and changes, but nothing destructive'
    const message = `The grant allows ${most} (max_access). This call does more, or may do more.`
    throw new ServiceError('access_not_allowed', { field: 'method', message })
  }
  if (isAmbiguous) {
    const message = `Servers could read this path in different ways, and an exception of the grant (${term}) applies to one of them.`
    throw new ServiceError('path_not_allowed', { field: 'url', message })
  }
  const message = `The user who approved the grant excluded calls like this one (${term}).`
  throw new ServiceError('denied_by_exception', { field: 'url', message })
}

export function isAbove(access: AccessClass, most: AccessClass): boolean {
  return accessClasses.indexOf(access) > accessClasses.indexOf(most)
}

/** The strictest of those that match. Undefined if none does. */
function byExceptions(exceptions: readonly GrantException[], call: TermsCall): TermsVerdict | undefined {
  const touching = exceptions.map((one) => isTouched(one, call))
  const strictest = (action: ExceptionAction): TermsVerdict | undefined => {
    const index = exceptions.findIndex((one, at) => {
      return one.action === action && touching[at] && (action !== 'allow' || isWithin(one, call))
    })
    return index === -1 ? undefined : { action, term: `exceptions.${index}` }
  }
  const denied = strictest('deny')
  if (denied) return denied
  const at = touching.indexOf(true)
  if (at !== -1 && !readsInOneWay(call.path)) return { action: 'deny', term: `exceptions.${at}`, isAmbiguous: true }
  return strictest('ask') ?? strictest('allow')
}

/** Whether any reading of the call is one that the exception names. */
function isTouched({ paths, methods, action }: GrantException, call: TermsCall): boolean {
  if (call.reaches && action !== 'allow') {
    // What is inside can be at any path. All of it together does no more than the call's access class.
    if (!methods || call.access !== 'read' || methods.some((method) => readingMethods.has(method))) return true
  }
  if (methods && !methods.some((method) => call.methods.includes(method))) return false
  if (coversAnyPath(paths, call.path)) return true
  const readings = readsInOneWay(call.path) ? call.readings : [...call.readings, literally(call.path)]
  return paths.some((path) => matchesRule(ruleOf(path), readings, undefined))
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** With its empty segments, which other readings leave out. */
function literally(path: string): PathReading {
  return { segments: path.toLowerCase().slice(1).split('/'), isJoined: undefined, hasDots: true }
}

/** Whether every reading of the call is one that the exception names. */
function isWithin({ paths, methods }: GrantException, call: TermsCall): boolean {
  if (call.reaches === 'paths') return false
  if (methods && !call.methods.every((method) => methods.includes(method))) return false
  return coversAnyPath(paths, call.path)
}

/** Read as a call's path is, in which an escape stands for its character and case makes no difference. */
const ruleOf = memoizeByText((pattern): PathRule => {
  const [reading] = readingsOf(pattern)
  return compilePath({ path: reading?.segments.join('/') ?? '' })
})
