import type { ConnectErrorCode } from '@sallyport/protocol/connections'
import type { Secret } from '../platform/secret.ts'

/** An authorization request in progress: the user was sent to the consent page, and the response has not come yet. */
export interface ConnectFlow {
  flowId: string
  /** The user who started it. Only they can complete it. */
  userId: string
  providerId: string
  /** The connection to renew. Null: create one, or renew the one to the same account. */
  connectionId: string | null
  scopes: string[]
  redirectAfter: string
  verifier: Secret
  nonce: string | null
  createdAt: Date
  expiresAt: Date
}

export const connectFlowSeconds = 600

/** The account was not connected. */
export class ConnectFailed extends Error {
  readonly code: ConnectErrorCode

  constructor(code: ConnectErrorCode) {
    super(`not connected: ${code}`)
    this.name = 'ConnectFailed'
    this.code = code
  }
}

/** The URL that the browser is redirected to in the end, with the result in its query. */
export function landing(baseUrl: URL, path: string, result: Record<string, string>): string {
  const url = new URL(path, baseUrl)
  for (const name of ['error', 'connection_id', 'connect']) url.searchParams.delete(name)
  for (const [name, value] of Object.entries(result)) url.searchParams.set(name, value)
  return url.href
}
