import { Secret } from '../secret.ts'

/** The query of an authorization response, and its `state` unless it is missing or repeated. */
export function readCallback(url: string): { query: Secret; state: Secret | undefined } {
  // Everything after the first question mark: a code may contain one (RFC 6749 Appendix A.11).
  const [, query = ''] = /\?(.*)/s.exec(url) ?? []
  const [state, ...others] = new URLSearchParams(query).getAll('state')
  return { query: new Secret(query), state: state && others.length === 0 ? new Secret(state) : undefined }
}
