import type { ApiPath } from './api-path.ts'

/** What is known beforehand of a provider, so that an admin brings only a client id and its secret. */
export interface Preset {
  /** The slug, and what an admin writes as "preset". */
  id: string
  name: string
  /** For OpenID Connect exactly what discovery and the `iss` parameter say. */
  issuerUrl: string
  /** An id token's issuer where it differs per account: the braces stand for the token's own claim of that name. */
  issuerTemplate?: string
  /** For people to look at. The endpoints are pinned here and never taken from it. */
  discoveryUrl?: string
  authorizationUrl: string
  tokenUrl: string
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
  /** The provider checks the PKCE verifier. Where it is false, the parameters are sent all the same and ignored. */
  checksPkce: boolean
  tokenEndpointAuthMethod: 'client_secret_basic' | 'client_secret_post' | 'none'
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
  /** `authorization` with `Bearer ` where it is absent. */
  injection?: { in: 'header'; name: string; prefix: string }
  /** Paths whose body carries other calls, so that no limit of methods or paths can be kept there. */
  batchPaths: readonly ApiPath[]
  /** Paths that hand out, or let in, a credential that outlives the grant. Never proxied. */
  credentialPaths: readonly ApiPath[]
  /** The pages this was checked against. */
  docs: readonly string[]
  /** What an operator needs to know when creating the app. */
  notes?: string
}

/**
 * Where the tokens lie elsewhere than RFC 6749 §5.1 says.
 * `slack_user`: the person's token is in `authed_user` when a code is exchanged, and at the top after a refresh; a
 * refusal is `{"ok": false, "error": …}`.
 * `comma_scope`: `scope` is a list with commas.
 * `scope_array`: `scope`, if it comes at all, can be a JSON array.
 */
export type TokenAnswerQuirk = 'slack_user' | 'comma_scope' | 'scope_array'

/** How to learn whose account it is. `id` and `label` are dotted paths; of several labels the first that is there counts. */
export type AccountSource =
  | { from: 'id_token'; id: 'sub'; labels: readonly string[] }
  | { from: 'token_answer'; id: string; labels: readonly string[] }
  | {
      from: 'request'
      method: 'GET' | 'POST'
      url: string
      body?: string
      headers?: Readonly<Record<string, string>>
      id: string
      labels: readonly string[]
    }
