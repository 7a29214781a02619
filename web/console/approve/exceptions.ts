/** Exceptions from a grant's mode, as the user types them. */
import type { ApproveBody, Grant } from '@sallyport/sdk'
import type { ExceptionAction } from '@sallyport/protocol/grant-terms'
import { oddPath } from './reach.ts'
import type { Fault } from './terms.ts'

export interface Rule {
  /** Identifies it while it is edited. */
  id: number
  action: ExceptionAction
  /** One per line. */
  paths: string
  /** Separated by spaces or commas. Empty for any. */
  methods: string
}

export const actions = {
  deny: 'Never allow',
  ask: 'Always ask me',
  allow: 'Run without asking',
} as const satisfies Record<ExceptionAction, string>

export const mostRules = 20

export function newRule(rules: readonly Rule[]): Rule {
  return { id: Math.max(0, ...rules.map(({ id }) => id)) + 1, action: 'ask', paths: '', methods: '' }
}

/** As they are edited again. */
export function rulesOf(exceptions: NonNullable<Grant['exceptions']>): Rule[] {
  return exceptions.map(({ action, paths, methods }, index) => ({
    ...{ id: index + 1, action },
    ...{ paths: paths.join('\n'), methods: methods?.join(', ') ?? '' },
  }))
}

export function exceptionsOf(rules: readonly Rule[]): NonNullable<ApproveBody['exceptions']> {
  return rules.map(({ action, paths, methods }) => {
    const named = wordsIn(methods).map((method) => method.toUpperCase())
    return { paths: wordsIn(paths), ...(named.length > 0 && { methods: named }), action }
  })
}

/** At most one for each rule. */
export function exceptionFaults(rules: readonly Rule[]): Fault[] {
  return rules.flatMap(({ paths, methods }, at): Fault[] => {
    const chosen = wordsIn(paths)
    const none = 'Enter a path, or remove this exception. A single slash is any path.'
    const odd = chosen.length === 0 ? none : oddPath(chosen)
    if (odd !== undefined) return [{ name: 'exceptions', at, part: 'exceptionPaths', text: odd }]
    const strange = wordsIn(methods).find((method) => !/^[A-Za-z-]{1,30}$/.test(method))
    if (strange === undefined) return []
    const text = `This is not a method: ${strange}`
    return [{ name: 'exceptions', at, part: 'exceptionMethods', text }]
  })
}

function wordsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}
