import type { ConnectErrorCode } from '@sallyport/protocol/connections'
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

/** It did not come to a connection. */
export class ConnectFailed extends Error {
  readonly code: ConnectErrorCode

  constructor(code: ConnectErrorCode) {
    super(`not connected: ${code}`)
    this.name = 'ConnectFailed'
    this.code = code
  }
}

/** Where the browser goes in the end, and what it learns there. */
export function landing(baseUrl: URL, path: string, result: Record<string, string>): string {
  const url = new URL(path, baseUrl)
  for (const name of ['error', 'connection_id', 'connect']) url.searchParams.delete(name)
  for (const [name, value] of Object.entries(result)) url.searchParams.set(name, value)
  return url.href
}
