/** What a failed call means to a person. */
import { SallyportError } from '@sallyport/sdk'

export function describeProblem(problem: unknown): string {
  if (!(problem instanceof SallyportError)) return 'Something went wrong on this page. Please reload it.'
  if (problem.code === 'no_answer' || problem.code === 'timeout') {
    return 'The service isn’t responding. Check that it’s running and that you’re online.'
  }
  return problem.requestId ? `${problem.message} (${problem.requestId})` : problem.message
}

/** The field of a form that the service finds fault with, and what it says of it. */
export function faultOf<Name extends string>(problem: unknown, fields: readonly Name[]) {
  if (!(problem instanceof SallyportError)) return undefined
  const root = problem.field?.split(/[.[/]/)[0]
  const field = fields.find((name) => name === root)
  return field === undefined ? undefined : { field, text: problem.message }
}

export function isProblem(problem: unknown, ...codes: SallyportError['code'][]): problem is SallyportError {
  return problem instanceof SallyportError && codes.includes(problem.code)
}
