/** What we are to an authorization server, and what it is to us: the pinned half of its metadata. */
import type { AuthMethod } from '@sallyport/protocol/providers'
import type { ServerMetadata } from 'openid-client'
import type { SuppliedBy } from '../egress/egress.ts'
import type { Secret } from '../secret.ts'
import type { Dialect } from './dialect.ts'

export type { AuthMethod }

/** The members of RFC 8414 that are kept, under their own names: what we act on, and where else credentials go. */
export type Metadata = Pick<
  ServerMetadata,
  | 'issuer'
  | 'authorization_endpoint'
  | 'token_endpoint'
  | 'registration_endpoint'
  | 'device_authorization_endpoint'
  | 'revocation_endpoint'
  | 'introspection_endpoint'
  | 'pushed_authorization_request_endpoint'
  | 'userinfo_endpoint'
  | 'id_token_signing_alg_values_supported'
  | 'authorization_response_iss_parameter_supported'
>

export const metadataMembers = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'device_authorization_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'pushed_authorization_request_endpoint',
  'userinfo_endpoint',
  'id_token_signing_alg_values_supported',
  'authorization_response_iss_parameter_supported',
] as const satisfies (keyof Metadata)[]

/** Whatever the first is, and whether or not a bare host has its slash. */
export function isSameIssuer(said: string, known: string): boolean {
  return URL.parse(said)?.href === new URL(known).href
}

export interface OAuthClient {
  metadata: Metadata
  clientId: string
  clientSecret: Secret | undefined
  authMethod: AuthMethod
  dialect: Dialect
  /** Who wrote the endpoints' addresses, and so how far they are trusted. */
  suppliedBy: SuppliedBy
}

export interface Tokens {
  accessToken: Secret
  refreshToken: Secret | undefined
  expiresInSeconds: number | undefined
  /** Undefined where the server granted what was asked for and did not repeat it. */
  scopes: string[] | undefined
  /** Of the id token, validated. */
  claims: Record<string, unknown> | undefined
  /** What else stood in the answer, without its tokens. */
  extra: Record<string, unknown>
}

/** The server understood and said no. The code is its own, as OAuth spells it. */
export class OAuthRefused extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the authorization server answered ${code}`)
    this.name = 'OAuthRefused'
    this.code = code
  }
}

/** The answer is not one that this request could have: another issuer's, another nonce's, or malformed. */
export class OAuthAnswerInvalid extends Error {
  constructor(reason: string) {
    super(`the authorization server's answer does not hold: ${reason}`)
    this.name = 'OAuthAnswerInvalid'
  }
}
