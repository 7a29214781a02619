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
  /** Where a refresh token is spent, if that is not the token endpoint. */
  refreshUrl?: string
  /** Often it works only after something was ticked in the app: see `notes`. */
  deviceAuthorizationUrl?: string
  /** Only where it works as RFC 7009 says. */
  revocationUrl?: string
  /** Only where it works as RFC 7662 says. */
  introspectionUrl?: string
  userinfoUrl?: string
  /** The authorization response always carries `iss` (RFC 9207). Where it is absent, one that comes is checked too. */
  issParameter?: boolean
  /** The scope `openid` gives an id token. */
  isOidc: boolean
  /**
   * `checked`: sent, and the provider holds us to it. `undocumented`: sent, and perhaps ignored. `not_sent`: the provider
   * may refuse a request that carries it, so the state alone binds the answer to the person.
   */
  pkce: 'checked' | 'undocumented' | 'not_sent'
  tokenEndpointAuthMethod: 'client_secret_basic' | 'client_secret_post' | 'none'
  /** The Basic header holds id and secret as they are, without the encoding of RFC 6749 §2.3.1. */
  isBasicUnencoded?: boolean
  /** Whose account it is, a start at reading, and what a refresh token needs. */
  defaultScopes: readonly string[]
  /** A space where it is absent. */
  scopeSeparator?: ',' | ' '
  scopeParameter?: 'scope' | 'user_scope'
  authorizationParams?: Readonly<Record<string, string>>
  /** A form where it is absent; JSON only where the form is not documented to be taken. */
  tokenRequest?: 'form' | 'json'
  tokenHeaders?: Readonly<Record<string, string>>
  tokenAnswer?: TokenAnswerQuirk
  /** A refused token request can answer 200 with an error in its body. */
  errorsWithStatus200?: boolean
  account: AccountSource
  /** The only places the token is sent to: exact names, or `*.example.com` for all below it. */
  apiHosts: readonly string[]
  /** A member of the token answer with a URL: of `apiHosts`, the token goes to that host alone. */
  apiHostFrom?: string
  /** `authorization` with `Bearer ` where it is absent. */
  injection?: { in: 'header'; name: string; prefix: string }
  /** Paths whose body carries other calls, so that no limit of methods or paths can be kept there. */
  batchPaths: readonly ApiPath[]
  /** Paths that hand out, or let in, a credential that outlives the grant. Never proxied. */
  credentialPaths: readonly ApiPath[]
  /** GraphQL fields that do the same. A body at a batch path that names one of them anywhere is never proxied. */
  credentialFields?: readonly string[]
  /** The pages this was checked against. */
  docs: readonly string[]
  /** What an operator needs to know when creating the app. */
  notes?: string
}

/**
 * Where the token answer differs from RFC 6749 §5.1.
 * `slack_user`: the person's tokens are in `authed_user` when a code is exchanged and at the top after a refresh; scopes
 * have commas between them; a refusal is `{"ok": false, "error": …}`.
 * `comma_scope`: `scope` has commas between the scopes.
 * `scopes_array`: the scopes are an array called `scopes`.
 */
export type TokenAnswerQuirk = 'slack_user' | 'comma_scope' | 'scopes_array'

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
      headers?: Readonly<Record<string, string>>
    }
)

/** For paths that may be read. */
export const writes = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
