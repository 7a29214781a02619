/** What a failed call means to a person. */
import { SallyportError } from '@sallyport/sdk'

export function describeProblem(problem: unknown): string {
  if (!(problem instanceof SallyportError)) return 'Something went wrong in this page. Please reload it.'
  if (problem.code === 'no_answer' || problem.code === 'timeout') {
    return 'No answer from the service. Check that it runs and that you are connected.'
  }
  return problem.requestId ? `${problem.message} (${problem.requestId})` : problem.message
}

export function isProblem(problem: unknown, ...codes: SallyportError['code'][]): problem is SallyportError {
  return problem instanceof SallyportError && codes.includes(problem.code)
}
