/** Which hosts a grant covers: entries as providers/api-hosts.ts keeps them. Calls are judged there, by `matchesHost`. */
import { matchesHost } from '../providers/api-hosts.ts'

/** Whether every host that the inner entry stands for is one of the outer's. */
export function coversHostPattern(outer: string, inner: string): boolean {
  // `*.b.a` reads as a name below `*.a`, and what covers it covers all that it stands for.
  return matchesHost(outer, inner)
}
