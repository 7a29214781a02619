import type { AwsScope } from '@sallyport/protocol/proxy'
import type { StreamedAnswer, WholeAnswer } from '../platform/egress/answers.ts'
import type { EgressRequest } from '../platform/egress/egress.ts'
import type { EgressLimits } from '../platform/egress/exchange.ts'
import type { RateLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import type { SecretForms } from '../redaction/secret-forms.ts'
import type { Destination } from './destination.ts'
import type { ProviderRules } from './policy.ts'

export type HeaderList = [name: string, value: string][]

export interface UpstreamRequest extends Pick<
  EgressRequest,
  'method' | 'url' | 'headers' | 'body' | 'bodyStream' | 'isHandshake'
> {
  limits: Omit<EgressLimits, 'connectMs'>
  /** Aborted when the call must end: so does the request, and the body of its answer. */
  signal: AbortSignal
}

/** As the upstream sent it: not decoded, not redacted. */
export type UpstreamHead = Pick<WholeAnswer, 'status' | 'statusText' | 'headers'>

export interface StreamedResponse extends UpstreamHead, Pick<StreamedAnswer, 'arrived' | 'trailers' | 'socket'> {
  /** `destroy` releases the connection of a body that is not read. */
  body: AsyncIterable<Uint8Array> & { destroy?: () => unknown }
}

/** Answers a call: the https client is one upstream, the sandbox's echo another. */
export interface Upstream {
  whole: (request: UpstreamRequest) => Promise<WholeAnswer>
  streamed: (request: UpstreamRequest) => Promise<StreamedResponse>
}

/** What a credential sees of a request. It may change the URL and the headers. */
export type Sendable = Pick<UpstreamRequest, 'method' | 'url' | 'headers' | 'body' | 'bodyStream'>

/** What a request is sent with, and every form of the secrets that must not come back. */
export interface Credential {
  /**
   * Adds itself to a request that the policy has judged already. What it adds is nowhere else. Returns the
   * request's signature in hex, if it makes one. `chosen`: what the caller wants it signed for.
   */
  apply: (request: Sendable, chosen?: AwsScope) => undefined | Promise<readonly Secret[]>
  forms: SecretForms
  /** The same of the newest credential of the account, if it was renewed while the call was in flight. */
  newestForms?: () => SecretForms
  /** Of the token, to be named when an upstream refuses it. Absent if it can't be renewed. */
  version?: number
  /** It took time to get it, so authority has to be checked again. */
  wasAwaited: boolean
}

/** What a credential adds to calls, without the secrets. */
export interface Injects {
  /** Names of headers in lower case, with hyphens for underscores. The caller's own headers of these names are dropped. */
  headers: readonly string[]
  /** What the caller has written in a URL where the credential will be. */
  writtenIn: (url: URL) => string[]
  /** What a call to this destination would carry, with `[REDACTED]` for the credential. Null: nothing. */
  shownFor: (destination: Destination) => Shown | null
}

export type Shown = { value: string } & ({ header: string } | { query: string } | { path: string })

/** Where calls of a grant go, and with what. */
export interface Route {
  upstream: Upstream
  /** The provider's own rules for calls. None in the sandbox. */
  rules: ProviderRules | undefined
  injects: Injects
  /** The same URL with a placeholder for a segment of the path that is part of the credential. */
  placed?: (url: URL) => URL
  /** Called only after the attempt is recorded. `refused` is the version that the upstream answered with 401. */
  credential: (refused?: number) => Credential | Promise<Credential>
  /** For a tool that reads at a host where the provider has files for everyone who knows their URL. */
  openAt?: (host: string) => Route | undefined
  /** May be called over http: it is our own, and the request never leaves the process. */
  plainOrigin?: string
  rate?: { key: string; limit: RateLimit }
  maxBodyBytes?: number
}
