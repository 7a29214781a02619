import { Secret } from '../secret.ts'

/** An authorization response as it came, and its state; undefined where there is none, or more than one. */
export function readCallback(url: string): { query: Secret; state: Secret | undefined } {
  // All of it: a code may hold a question mark (RFC 6749 Appendix A.11).
  const [, query = ''] = /\?(.*)/s.exec(url) ?? []
  const [state, ...others] = new URLSearchParams(query).getAll('state')
  return { query: new Secret(query), state: state && others.length === 0 ? new Secret(state) : undefined }
}
