import type { RateLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import type { Injection } from '../providers/provider.ts'
import type { SecretForms } from '../redaction/secret-forms.ts'
import type { ProviderRules } from './policy.ts'

export type HeaderList = [name: string, value: string][]

export interface UpstreamRequest {
  method: string
  url: URL
  headers: HeaderList
  body: Buffer | undefined
  /** Until the headers of the answer, and until its last byte. */
  firstByteMs: number
  timeoutMs: number
  /** Of the answer's body before decoding. */
  maxBytes: number
  /** Called for each chunk of a buffered answer, to reserve memory. Throws if there is none left. */
  takeRoom?: ((bytes: number) => void) | undefined
  /** Aborted when the call must end: so does the request, and the body of its answer. */
  signal: AbortSignal
}

/** As the upstream sent it: not decoded, not redacted. */
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
  /** `destroy` releases the connection of a body that is not read. */
  body: AsyncIterable<Uint8Array> & { destroy?: () => unknown }
  /** Known once the body has ended. */
  trailers: () => HeaderList
}

/** Answers a call: the https client is one upstream, the sandbox's echo another. */
export interface Upstream {
  whole: (request: UpstreamRequest) => Promise<WholeResponse>
  streamed: (request: UpstreamRequest) => Promise<StreamedResponse>
}

/** The header that is added to the call, and every form of the secrets that must not come back. */
export interface Credential {
  header: { name: string; value: Secret }
  forms: SecretForms
  /** The same of the newest credential of the account, if it was renewed while the call was in flight. */
  newestForms?: () => SecretForms
  /** Of the token, to be named when an upstream refuses it. Absent if it can't be renewed. */
  version?: number
  /** It took time to get it, so authority has to be checked again. */
  wasAwaited: boolean
}

/** Where calls of a grant go, and with what. */
export interface Route {
  upstream: Upstream
  /** The provider's own rules for calls. None in the sandbox. */
  rules: ProviderRules | undefined
  /** The header for the credential, and the prefix of its value. The caller's own header of that name is dropped. */
  injection: Pick<Injection, 'name' | 'prefix'>
  /** Called only after the attempt is recorded. `refused` is the version that the upstream answered with 401. */
  credential: (refused?: number) => Credential | Promise<Credential>
  /** May be called over http: it is our own, and the request never leaves the process. */
  plainOrigin?: string
  rate?: { key: string; limit: RateLimit }
  maxBodyBytes?: number
}
