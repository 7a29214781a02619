/** Describes a failed call for the user. */
import { SallyportError } from '@sallyport/sdk'

export function describeProblem(problem: unknown): string {
  if (!(problem instanceof SallyportError)) return 'Something went wrong on this page. Please reload it.'
  if (problem.code === 'no_answer' || problem.code === 'timeout') {
    return 'The service isn’t responding. Check that it’s running and that you’re online.'
  }
  return problem.requestId ? `${problem.message} (${problem.requestId})` : problem.message
}

/** The form field that the service rejected, and its message. */
export function faultOf<Name extends string>(problem: unknown, fields: readonly Name[]) {
  if (!(problem instanceof SallyportError)) return undefined
  const root = problem.field?.split(/[.[/]/)[0]
  const field = fields.find((name) => name === root)
  return field === undefined ? undefined : { field, text: problem.message }
}

export function isProblem(problem: unknown, ...codes: SallyportError['code'][]): problem is SallyportError {
  return problem instanceof SallyportError && codes.includes(problem.code)
}
