/** Exceptions from a grant's mode, as the user types them. */
import type { ApproveBody } from '@sallyport/sdk'
import type { ExceptionAction } from '@sallyport/protocol/grant-terms'
import type { Missing } from './terms.ts'

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

export function exceptionsOf(rules: readonly Rule[]): NonNullable<ApproveBody['exceptions']> {
  return rules.map(({ action, paths, methods }) => {
    const named = wordsIn(methods).map((method) => method.toUpperCase())
    return { paths: wordsIn(paths), ...(named.length > 0 && { methods: named }), action }
  })
}

export function missingException(rules: readonly Rule[]): Missing | undefined {
  const refuse = (text: string): Missing => ({ name: 'exceptions', text })
  for (const { paths, methods } of rules) {
    const chosen = wordsIn(paths)
    if (chosen.length === 0) return refuse('Enter a path for each exception, or remove it. A single slash is any path.')
    const odd = chosen.find((path) => !path.startsWith('/'))
    if (odd !== undefined) return refuse(`A path must start with a slash: ${odd}`)
    const strange = wordsIn(methods).find((method) => !/^[A-Za-z-]{1,30}$/.test(method))
    if (strange !== undefined) return refuse(`This is not a method: ${strange}`)
  }
  return undefined
}

function wordsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}
