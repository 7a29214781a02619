import { Ability } from '@sallyport/protocol/abilities'
import { AuthMethod } from '@sallyport/protocol/auth-methods'
import { ApiHost, Scopes, Slug } from '@sallyport/protocol/providers'
import { Dictionary, DisplayName, Prose, Strict, Text } from '@sallyport/protocol/schema'
import { Type, type Static } from 'typebox'

const HttpsUrl = Type.String({ pattern: '^https://[!-~]{1,500}$' })
const Name = DisplayName({ minLength: 1, maxLength: 100 })
/** A dotted path into JSON. */
const JsonPath = Type.String({ pattern: '^[A-Za-z_]\\w*(?:\\.[A-Za-z_]\\w*)*$' })
const Notes = Prose({ minLength: 1, maxLength: 500 })

const ApiPath = Strict({
  host: ApiHost,
  path: Type.String({ pattern: '^(?:/|(?:/[\\w.@$*:-]+)+)$' }),
  methods: Type.Optional(Type.Array(Type.String({ pattern: '^[A-Z]+$' }), { minItems: 1, uniqueItems: true })),
  isExact: Type.Optional(Type.Boolean()),
})
const ApiPaths = Type.Array(ApiPath, { minItems: 1 })

/** One that makes a call milder: for exactly this path, and only if all servers would interpret it alike. */
const MilderRule = Strict({
  ...ApiPath.properties,
  /** By default GET, HEAD and POST. */
  methods: ApiPath.properties.methods,
  contentType: Type.Optional(Type.String({ pattern: '^[a-z]+/[a-z0-9.+-]+$' })),
  /** The whole body. */
  body: Type.Optional(Type.String({ pattern: '^[!-~]{1,20}$' })),
})

/** One that makes a call worse: if any server could interpret path and method so. */
const WorseRule = Strict({
  ...ApiPath.properties,
  /** Only with this parameter, or if the body can't be read. */
  parameter: Type.Optional(
    Strict({
      in: Type.Enum(['query', 'body']),
      name: Type.String({ pattern: '^\\w+$' }),
      /** In lower case. By default any. */
      values: Type.Optional(Type.Array(Type.String({ pattern: '^[!-@\\[-~]+$' }), { minItems: 1 })),
    }),
  ),
})

/** `describe*`. `*` stands for any text. */
const OperationNames = Type.Array(Type.String({ pattern: '^[A-Za-z*]+$' }), { minItems: 1, uniqueItems: true })

/**
 * What calls do where their method doesn't tell: by default GET, HEAD and OPTIONS read, DELETE destroys, and all others
 * write. Destroying is what the API can't undo, or what deletes something, even if the deleted is kept for some time.
 */
const Access = Strict({
  /** Set where calls are named in the path, and GET may do anything: all calls write but those that are listed. */
  getIsRead: Type.Optional(Type.Literal(false)),
  reads: Type.Optional(Type.Array(MilderRule, { minItems: 1 })),
  writes: Type.Optional(Type.Array(WorseRule, { minItems: 1 })),
  destructive: Type.Optional(Type.Array(WorseRule, { minItems: 1 })),
  /** Those of `batchPaths` that do nothing but the calls in the body. */
  batches: Type.Optional(Type.Array(MilderRule, { minItems: 1 })),
  /** Of AWS, in lower case, and mutations of GraphQL, apart from those that are named delete, remove or destroy. */
  operations: Type.Optional(
    Strict({
      reads: Type.Optional(OperationNames),
      /** Of those that would read by their name. */
      writes: Type.Optional(OperationNames),
      destructive: Type.Optional(OperationNames),
    }),
  ),
})

/** How it deviates from RFC 6749. */
const Dialect = Strict({
  scopeSeparator: Type.Optional(Type.Literal(',')),
  scopeParameter: Type.Optional(Text({ minLength: 1, maxLength: 50 })),
  tokenRequest: Type.Optional(Type.Literal('json')),
  errorsWithStatus200: Type.Optional(Type.Boolean()),
  tokensIn: Type.Optional(JsonPath),
  isAlwaysBearer: Type.Optional(Type.Boolean()),
  scopeArray: Type.Optional(Type.Boolean()),
  omitsPkce: Type.Optional(Type.Boolean()),
  isBasicUnencoded: Type.Optional(Type.Boolean()),
  refreshEndpoint: Type.Optional(HttpsUrl),
})

/** `id` never changes, the first of `labels` that is present is shown, `within` is the workspace of the account. */
const accountNames = {
  id: JsonPath,
  labels: Type.Array(JsonPath, { minItems: 1, maxItems: 5 }),
  within: Type.Optional(JsonPath),
}

/** How to find out whose account it is. */
const AccountSource = Type.Union([
  Strict({ from: Type.Literal('id_token'), ...accountNames }),
  Strict({ from: Type.Literal('token_answer'), ...accountNames }),
  Strict({
    from: Type.Literal('request'),
    method: Type.Enum(['GET', 'POST']),
    url: HttpsUrl,
    /** JSON. */
    body: Type.Optional(Text({ minLength: 1, maxLength: 500 })),
    ...accountNames,
  }),
])

/** What an OAuth client needs, apart from its id and secret. */
const PresetOAuth = Strict({
  /** For OpenID Connect, exactly as in the discovery document and the `iss` parameter. */
  issuerUrl: HttpsUrl,
  /** For reference only: the endpoints are pinned here and never discovered. */
  discoveryUrl: Type.Optional(HttpsUrl),
  authorizationUrl: HttpsUrl,
  tokenUrl: HttpsUrl,
  /** Often has to be enabled in the app: see `notes`. */
  deviceAuthorizationUrl: Type.Optional(HttpsUrl),
  /** Only if it follows RFC 7009. */
  revocationUrl: Type.Optional(HttpsUrl),
  userinfoUrl: Type.Optional(HttpsUrl),
  /** The authorization response always has `iss` (RFC 9207). If this is not set, `iss` is checked only if present. */
  issParameter: Type.Optional(Type.Boolean()),
  tokenEndpointAuthMethod: Type.Enum(['client_secret_basic', 'client_secret_post', 'none']),
  dialect: Type.Optional(Dialect),
  /** Enough to identify the account, to read basic data, and to get a refresh token. */
  defaultScopes: Scopes,
  authorizationParams: Type.Optional(Dictionary(Text({ maxLength: 500 }))),
  account: AccountSource,
  /** A member of the token response with a URL. Of `apiHosts`, the token is sent only to the host of that URL. */
  apiHostFrom: Type.Optional(JsonPath),
  /** The vendor's own page where an app is registered. */
  registerUrl: Type.Optional(HttpsUrl),
  /** What an operator needs to know when creating the app. */
  notes: Type.Optional(Notes),
})

/** How errors of our own are written where the provider's tools show no others. `service`: as AWS signs for. */
const ErrorFormat = Type.Union([
  Strict({ format: Type.Literal('git_text'), host: ApiHost, path: ApiPath.properties.path }),
  Strict({ format: Type.Literal('s3_xml'), service: Type.String({ pattern: '^[a-z0-9-]+$' }) }),
])

/** One way in which accounts are connected, as in `auth_methods` of POST /v4/providers. OAuth is `{ kind: 'oauth2' }`. */
const PresetAuthMethod = Strict({
  ...AuthMethod.properties,
  /** Environment variables that the provider's own tools read this credential from: `GH_TOKEN`. */
  env: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Z][A-Z0-9_]{1,60}$' }), { minItems: 1, uniqueItems: true }),
  ),
})

/**
 * What a request body can hide, and has to be inspected for: another method (`_method` in a form), other calls, GraphQL
 * operations, or the operation itself (`Action` in a form).
 */
export const allBodyChecks = ['method_override', 'batch', 'graphql', 'form_action'] as const
const BodyCheck = Type.Enum([...allBodyChecks])

/** What is known about a provider in advance. One file per provider, as data. */
export const PresetSchema = Strict({
  /** The slug, and the value of `preset` in a request. */
  id: Slug,
  name: Name,
  /** Other names that users know it by. A proposed provider can't use them either. */
  otherNames: Type.Optional(Type.Array(Name, { minItems: 1, uniqueItems: true })),
  authMethods: Type.Array(PresetAuthMethod, { minItems: 1, maxItems: 10 }),
  /** With the method `oauth2`. */
  oauth: Type.Optional(PresetOAuth),
  /** Where tokens are issued for other methods. The OAuth token endpoint unless it is set. */
  tokenUrl: Type.Optional(HttpsUrl),
  /** The only hosts that credentials are sent to: exact names, or `*.example.com` for all subdomains. */
  apiHosts: Type.Array(ApiHost, { minItems: 1, uniqueItems: true }),
  /** Other hosts that take the same calls as the first of them. They don't get this preset's credentials. */
  sameCallsAt: Type.Optional(Type.Array(ApiHost, { minItems: 1, uniqueItems: true })),
  /** Paths whose request body contains other calls, so limits on methods or paths can't be enforced. */
  batchPaths: Type.Optional(ApiPaths),
  /**
   * Calls whose effect outlives the grant. They are never proxied: creating, reading or registering credentials;
   * changing how users sign in; permanent deliveries (webhooks, forwarding, mirrors, integrations); giving people
   * access to an account, organization or repository; exporting all of it. Sharing a single file, document or channel
   * is ordinary use and allowed. `none` if the documentation in `docs` shows that there are none, `by_operation` if
   * paths can't tell (aws/credential-operations.ts).
   */
  credentialPaths: Type.Union([Type.Literal('none'), Type.Literal('by_operation'), ApiPaths]),
  /** Paths where a query or the body names the type of the records to read or write. */
  queryPaths: Type.Optional(ApiPaths),
  /**
   * Fields and types with the same effect: names in a GraphQL document, or strings of JSON that are a type's name. In a
   * text (SOQL, XML, CSV) each word counts, and `=User` only as a whole string or XML element.
   */
  credentialFields: Type.Optional(Type.Array(Type.String({ pattern: '^=?\\w+$' }), { minItems: 1, uniqueItems: true })),
  /** Where records of a type are created: a type that a body names is judged as the path below this one. */
  recordPath: Type.Optional(Type.String({ pattern: '^(?:/[\\w.-]+)+$' })),
  access: Type.Optional(Access),
  /** A prefix of the paths on a self-hosted server, which may have them with or without it. */
  pathElsewhere: Type.Optional(Type.String({ pattern: '^(?:/[\\w.-]+)+$' })),
  /** What people are told that a grant can do. Hosts without any are described in general words. */
  abilities: Type.Optional(Type.Array(Strict(Ability.properties), { minItems: 1 })),
  bodyChecks: Type.Array(BodyCheck, { uniqueItems: true }),
  errorFormats: Type.Optional(Type.Array(ErrorFormat, { minItems: 1 })),
  /** Hosts that the API sends clients to for files, by URLs that are enough. Tools read there without a credential. */
  openHosts: Type.Optional(Type.Array(ApiHost, { minItems: 1, uniqueItems: true })),
  /** The vendor's pages this was checked against. People are shown the first one, to create a credential. */
  docs: Type.Array(HttpsUrl, { minItems: 1, uniqueItems: true }),
})

type DeepReadonly<T> = T extends object ? { readonly [Member in keyof T]: DeepReadonly<T[Member]> } : T

export type AccessData = DeepReadonly<Static<typeof Access>>
export type Preset = DeepReadonly<Static<typeof PresetSchema>>
export type PresetOAuth = DeepReadonly<Static<typeof PresetOAuth>>
export type BodyCheck = Static<typeof BodyCheck>
export type AccountSource = DeepReadonly<Static<typeof AccountSource>>

/** From lines of `POST /v1/search`, or of a path for all methods. */
export function callsAt(host: string, text: string): { host: string; path: string; methods?: string[] }[] {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter(Boolean).map((line) => {
    const [first = '', path] = line.split(' ')
    return path === undefined ? { host, path: first } : { host, path, methods: first.split(',') }
  })
}

/** What git sends to fetch, and before a push: one of nothing, with which it asks whether it may push. */
export function gitReads(host: string, repository: string) {
  const methods = ['POST']
  const type = (service: string) => `application/x-${service}-request`
  return [
    { host, path: `${repository}/git-upload-pack`, methods, contentType: type('git-upload-pack') },
    {
      host,
      path: `${repository}/git-receive-pack`,
      methods,
      contentType: type('git-receive-pack'),
      body: '0000' as const,
    },
  ]
}

/** git shows what a server answers to these in plain text. */
export function gitErrors(host: string, repository: string) {
  const format = 'git_text' as const
  const paths = ['info/refs', 'git-upload-pack', 'git-receive-pack']
  return paths.map((path) => ({ format, host, path: `${repository}/${path}` }))
}

/** For paths where only reading is allowed. */
export const writes = ['POST', 'PUT', 'PATCH', 'DELETE'] as const

/** An API key that is sent like an OAuth token. */
export const bearer = { in: 'header', name: 'authorization', template: 'Bearer {api_key}' } as const

type AbilityData = NonNullable<Preset['abilities']>[number]
type AbilityRest = Partial<Pick<AbilityData, 'path' | 'methods' | 'scopes' | 'only'>>

/** `can('read', 'read', 'your mail', 'gmail.googleapis.com')`: at any path unless `rest` names one. */
export function can(
  access: AbilityData['access'],
  does: string,
  what: string,
  host: string,
  rest: AbilityRest = {},
): AbilityData {
  return { does, what, access, host, path: '/', ...rest }
}

/** Where what is read can also be changed and deleted. */
export function all(what: string, host: string, path = '/'): AbilityData[] {
  const at = { path }
  return [
    can('read', 'read', what, host, at),
    can('write', 'change', what, host, at),
    can('destructive', 'delete', what, host, at),
  ]
}
