import { ServiceError } from '../platform/errors.ts'
import { ownPath } from '../platform/own-path.ts'
import type { Secret } from '../platform/secret.ts'

/** A person was sent to a provider's consent page, and we wait for the answer. */
export interface ConnectFlow {
  flowId: string
  /** Who started it, and whom alone the answer can be for. */
  userId: string
  providerId: string
  /** The connection to renew; null makes a new one, or renews the one to the same account. */
  connectionId: string | null
  scopes: string[]
  redirectAfter: string
  verifier: Secret
  nonce: string | null
  createdAt: Date
  expiresAt: Date
}

export const connectFlowSeconds = 600

/** How it can end without a connection; the console gets it as `error`. */
export type ConnectError =
  | 'access_denied'
  | 'invalid_state'
  | 'wrong_user'
  | 'wrong_account'
  | 'invalid_response'
  | 'token_refused'
  | 'weak_token'
  | 'provider_unavailable'
  | 'provider_disabled'
  | 'provider_error'

/** It did not come to a connection. */
export class ConnectFailed extends Error {
  readonly code: ConnectError

  constructor(code: ConnectError) {
    super(`not connected: ${code}`)
    this.name = 'ConnectFailed'
    this.code = code
  }
}

/** A path on our own origin, in letters that every browser reads alike. */
export function judgeRedirectAfter(text: string, baseUrl: URL): string {
  const path = /^[\x21-\x5b\x5d-\x7e]+$/.test(text) ? ownPath(text, baseUrl) : undefined
  if (path === undefined) {
    const message = '"redirect_after" takes a path on this origin, such as /connections.'
    throw new ServiceError('invalid_field', { field: 'redirect_after', message })
  }
  return path
}

/** Where the browser goes in the end, and what it learns there. */
export function landing(baseUrl: URL, path: string, result: Record<string, string>): string {
  const url = new URL(path, baseUrl)
  for (const name of ['error', 'connection_id', 'connect']) url.searchParams.delete(name)
  for (const [name, value] of Object.entries(result)) url.searchParams.set(name, value)
  return url.href
}
