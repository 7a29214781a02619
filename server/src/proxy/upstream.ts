import type { RateLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import type { StopSignal } from '../platform/stop-signal.ts'
import type { Injection } from '../providers/provider.ts'
import type { SecretForms } from '../redaction/secret-forms.ts'
import type { ProviderRules } from './policy.ts'

export type HeaderList = [name: string, value: string][]

export interface UpstreamRequest {
  method: string
  url: URL
  headers: HeaderList
  body: Buffer | undefined
  /** To the headers of the answer, and to its last byte. */
  firstByteMs: number
  timeoutMs: number
  /** Of the answer's body, as it comes. */
  maxBytes: number
  /** Takes memory for an answer that is read whole, as its bytes come. Throws where there is no more. */
  takeRoom?: ((bytes: number) => void) | undefined
  /** Aborted once the call may not go on: the request ends, and so does the body of its answer. */
  signal: StopSignal
}

/** What came back, as it came: not decoded, not redacted. */
export interface UpstreamHead {
  status: number
  statusText: string
  headers: HeaderList
}

export interface WholeResponse extends UpstreamHead {
  body: Buffer
  trailers: HeaderList
}

export interface StreamedResponse extends UpstreamHead {
  /** One that is destroyed unread lets go of what it came over. */
  body: AsyncIterable<Uint8Array> & { destroy?: () => unknown }
  /** Known once the body has ended. */
  trailers: () => HeaderList
}

/** Whatever answers a call: the https client is one, the sandbox's echo another. */
export interface Upstream {
  whole: (request: UpstreamRequest) => Promise<WholeResponse>
  streamed: (request: UpstreamRequest) => Promise<StreamedResponse>
}

/** What is put into the call, and everything that must not come back. */
export interface Credential {
  header: { name: string; value: Secret }
  forms: SecretForms
  /** Of the newest credential that was used meanwhile on the same account, beside this one's. */
  newestForms?: () => SecretForms
  /** The token's, to be named where an upstream refuses it; absent where it can not be renewed. */
  version?: number
  /** It had to be waited for: who may call is to be judged again. */
  wasAwaited: boolean
}

/** What stands behind a grant. */
export interface Route {
  upstream: Upstream
  /** What else the provider says of calls; none in the sandbox. */
  rules: ProviderRules | undefined
  /** The header that the credential goes into, and what stands there before it. The caller's own is dropped. */
  injection: Pick<Injection, 'name' | 'prefix'>
  /** Asked for only once the attempt is on record. `refused` is the version that the upstream answered with 401. */
  credential: (refused?: number) => Credential | Promise<Credential>
  /** Our own origin needs no TLS to be safe from others: nothing leaves the process. */
  plainOrigin?: string
  rate?: { key: string; limit: RateLimit }
  maxBodyBytes?: number
}
