import type { Dialect } from '../../platform/oauth/dialect.ts'
import type { AuthMethod } from '../../platform/oauth/oauth-client.ts'
import type { ApiPath } from './api-path.ts'

/** What is known about a provider in advance, so that an admin only has to add a client id and secret. */
export interface Preset {
  /** The slug, and the value of `preset` in a request. */
  id: string
  name: string
  /** Other names that users know it by. A proposed provider can't use them either. */
  otherNames?: readonly string[]
  /** For OpenID Connect, exactly as in the discovery document and the `iss` parameter. */
  issuerUrl: string
  /** For reference only: the endpoints are pinned here and never discovered. */
  discoveryUrl?: string
  authorizationUrl: string
  tokenUrl: string
  /** Often has to be enabled in the app: see `notes`. */
  deviceAuthorizationUrl?: string
  /** Only if it follows RFC 7009. */
  revocationUrl?: string
  userinfoUrl?: string
  /** The authorization response always has `iss` (RFC 9207). If this is not set, `iss` is checked only if present. */
  issParameter?: boolean
  tokenEndpointAuthMethod: AuthMethod
  /** How it deviates from RFC 6749. */
  dialect?: Dialect
  /** Enough to identify the account, to read basic data, and to get a refresh token. */
  defaultScopes: readonly string[]
  authorizationParams?: Readonly<Record<string, string>>
  account: AccountSource
  /** The only hosts that the token is sent to: exact names, or `*.example.com` for all subdomains. */
  apiHosts: readonly string[]
  /**
   * A member of the token response that contains a URL. Of `apiHosts`, the token is sent only to the host of that URL.
   */
  apiHostFrom?: string
  /** Paths whose request body contains other calls, so limits on methods or paths can't be enforced. */
  batchPaths: readonly ApiPath[]
  /**
   * Calls whose effect outlives the grant. They are never proxied: creating, reading or registering credentials;
   * changing how users sign in; permanent deliveries (webhooks, forwarding, mirrors, integrations); giving people
   * access to an account, organization or repository; exporting all of it. Sharing a single file, document or channel
   * is ordinary use and allowed.
   */
  credentialPaths: readonly ApiPath[]
  /** Paths where a query or the body names the type of the records to read or write. */
  queryPaths?: readonly ApiPath[]
  /**
   * Fields and types with the same effect. A call to a batch or query path that names one of them anywhere is never
   * proxied. `=User` matches only a whole JSON string or XML element.
   */
  credentialFields?: readonly string[]
  /** A prefix of the paths on a self-hosted server, which may have them with or without it. */
  pathElsewhere?: string
  /** The pages this was checked against. */
  docs: readonly string[]
  /** What an operator needs to know when creating the app. */
  notes?: string
}

/**
 * How to find out whose account it is. All names are dotted paths into the JSON: `id` never changes, the first of
 * `labels` that is present is shown to users, `within` is the workspace that the account belongs to.
 */
export type AccountSource = { id: string; labels: readonly string[]; within?: string } & (
  | { from: 'id_token' }
  | { from: 'token_answer' }
  | {
      from: 'request'
      method: 'GET' | 'POST'
      url: string
      /** JSON. */
      body?: string
    }
)

/** For paths where only reading is allowed. */
export const writes = ['POST', 'PUT', 'PATCH', 'DELETE'] as const

/** A GraphQL server with persisted queries would run a query by its hash, which can't be checked here. */
export const persistedQuery = 'persistedQuery'
