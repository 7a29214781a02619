import type { Dialect } from '../../platform/oauth/dialect.ts'
import type { AuthMethod } from '../../platform/oauth/oauth-client.ts'
import type { ApiPath } from './api-path.ts'

/** What is known beforehand of a provider, so that an admin brings only a client id and its secret. */
export interface Preset {
  /** The slug, and what an admin writes as "preset". */
  id: string
  name: string
  /** Other names people know it by, which nobody else may take either. */
  otherNames?: readonly string[]
  /** For OpenID Connect exactly what discovery and the `iss` parameter say. */
  issuerUrl: string
  /** For people to look at. The endpoints are pinned here and never taken from it. */
  discoveryUrl?: string
  authorizationUrl: string
  tokenUrl: string
  /** Often it works only after something was ticked in the app: see `notes`. */
  deviceAuthorizationUrl?: string
  /** Only where it works as RFC 7009 says. */
  revocationUrl?: string
  userinfoUrl?: string
  /** The authorization response always carries `iss` (RFC 9207). Where it is absent, one that comes is checked too. */
  issParameter?: boolean
  tokenEndpointAuthMethod: AuthMethod
  /** Where it speaks otherwise than RFC 6749. */
  dialect?: Dialect
  /** Whose account it is, a start at reading, and what a refresh token needs. */
  defaultScopes: readonly string[]
  authorizationParams?: Readonly<Record<string, string>>
  account: AccountSource
  /** The only places the token is sent to: exact names, or `*.example.com` for all below it. */
  apiHosts: readonly string[]
  /** A member of the token answer with a URL: of `apiHosts`, the token goes to that host alone. */
  apiHostFrom?: string
  /** Paths whose body carries other calls, so that no limit of methods or paths can be kept there. */
  batchPaths: readonly ApiPath[]
  /**
   * Calls that leave something behind which outlives the grant. Never proxied. Credentials that are made, shown or
   * registered; what an account is signed in with; standing deliveries (webhooks, forwarding, mirrors, integrations);
   * people let into an account, organization or repository; exports of all of it. Sharing a single file, document or
   * channel is ordinary use, and not among them.
   */
  credentialPaths: readonly ApiPath[]
  /** Paths where a query language, or a body, names the type of the records that are read or written. */
  queryPaths?: readonly ApiPath[]
  /**
   * Fields and types that do the same. A call to a batch or query path that names one of them anywhere is never proxied.
   * `=User` is named only where it is the whole of a JSON string or XML element.
   */
  credentialFields?: readonly string[]
  /** Where the paths begin on a server of one's own, besides its root. */
  pathElsewhere?: string
  /** The pages this was checked against. */
  docs: readonly string[]
  /** What an operator needs to know when creating the app. */
  notes?: string
}

/**
 * How to learn whose account it is. All names are dotted paths into the JSON: `id` stays the same for ever, the first of
 * `labels` that is there is what people read, `within` is the workspace that the account belongs to.
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

/** For paths that may be read. */
export const writes = ['POST', 'PUT', 'PATCH', 'DELETE'] as const

/** A GraphQL server that knows a query by its hash would run one that nobody here has read. */
export const persistedQuery = 'persistedQuery'
