/** What a failed call means to a person. */
import { SallyportError } from '@sallyport/sdk'

export function describeProblem(problem: unknown): string {
  if (!(problem instanceof SallyportError)) return 'Something went wrong in this page. Please reload it.'
  if (problem.code === 'no_answer' || problem.code === 'timeout') {
    return 'No answer from the service. Check that it runs and that you are connected.'
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
