import type { Secret } from '../platform/secret.ts'
import type { RateLimit } from '../platform/rate-limits.ts'

export type HeaderList = [name: string, value: string][]

export interface UpstreamRequest {
  method: string
  url: URL
  headers: HeaderList
  body: Buffer | undefined
  /** Aborted once the call may not go on: the request ends, and so does the body of its answer. */
  signal: AbortSignal
}

export interface UpstreamResponse {
  status: number
  headers: HeaderList
  body: AsyncIterable<Uint8Array>
}

/** Whatever answers a call: the https client is one, the sandbox's echo another. */
export type Upstream = (request: UpstreamRequest) => Promise<UpstreamResponse>

/** What is put into the call, and everything that must not come back. */
export interface Credential {
  header: { name: string; value: Secret }
  secrets: Secret[]
}

/** What stands behind a grant. */
export interface Route {
  upstream: Upstream
  /** Asked for only once the attempt is on record. */
  credential: () => Promise<Credential>
  /** The header that the credential goes into: the caller's own is dropped. */
  injects: string
  /** Our own origin needs no TLS to be safe from others: nothing leaves the process. */
  plainOrigin?: string
  /** What else may stand against a call that its grant covers. */
  judge?: () => void
  rate?: { key: string; limit: RateLimit }
  maxBodyBytes?: number
}
