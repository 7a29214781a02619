/** A client registration at an authorization server, with the parts of the server's metadata that are stored. */
import type { AuthMethod } from '@sallyport/protocol/providers'
import type { ServerMetadata } from 'openid-client'
import type { SuppliedBy } from '../egress/destinations.ts'
import type { Secret } from '../secret.ts'
import type { Dialect } from './dialect.ts'

export type { AuthMethod }

/** The members of RFC 8414 that are stored: those used here, and all endpoints that take credentials. */
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
] as const satisfies (keyof ServerMetadata)[]

export type Metadata = Pick<ServerMetadata, (typeof metadataMembers)[number]>

/** Compares as URLs, so that a missing slash after the host does not matter. `said` may be invalid. */
export function isSameIssuer(said: string, known: string): boolean {
  return URL.parse(said)?.href === new URL(known).href
}

export interface OAuthClient {
  metadata: Metadata
  clientId: string
  clientSecret: Secret | undefined
  authMethod: AuthMethod
  dialect: Dialect
  /** Who supplied the endpoints' URLs, which decides how far they are trusted. */
  suppliedBy: SuppliedBy
}

export interface Tokens {
  accessToken: Secret
  refreshToken: Secret | undefined
  expiresInSeconds: number | undefined
  /** Undefined if the server did not list them, which means that all requested ones were granted. */
  scopes: string[] | undefined
  /** The claims of the validated ID token. */
  claims: Record<string, unknown> | undefined
  /** The other members of the response, without tokens. */
  extra: Record<string, unknown>
}

/**
 * Error codes are words, such as `invalid_grant`, `BAD_REFRESH_TOKEN` or `InvalidClientTokenId`. A server could answer with
 * a secret that it was sent, which must not get into links, records and the log. A secret has no fewer than 16 characters.
 */
const words = /^(?:[A-Z]?[a-z]{1,15}(?:[_.-][A-Z]?[a-z]{1,15}|[A-Z][a-z]{1,15}){0,7}|[A-Z]{1,15}(?:_[A-Z]{1,15}){0,7})$/

/** The server refused, with this OAuth error code. */
export class OAuthRefused extends Error {
  readonly code: string
  /** Of the token endpoint's response. */
  readonly status: number | undefined

  constructor(code: string, status?: number) {
    const shown = code.length <= 64 && words.test(code) ? code : 'unreadable_error'
    super(`the authorization server answered ${shown}`)
    this.name = 'OAuthRefused'
    this.code = shown
    this.status = status
  }
}

/** The response is malformed or does not belong to the request, such as one with another issuer or nonce. */
export class OAuthAnswerInvalid extends Error {
  constructor(reason: string) {
    super(`the authorization server's answer does not hold: ${reason}`)
    this.name = 'OAuthAnswerInvalid'
  }
}
