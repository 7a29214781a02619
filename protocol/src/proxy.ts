import { Type, type Static } from 'typebox'
import { accessClasses } from './grant-terms.ts'
import { Exceptions, grantStatuses, GrantMode, MaxAccess } from './grants.ts'
import { streamedCallType } from './streamed-call.ts'
import { Dictionary, Nullable, Prose, RecordId, Strict, Text, Timestamp } from './schema.ts'

/** What an AWS request is signed for, where its host leaves a choice. */
export const AwsScope = Strict({
  region: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,64}$', examples: ['us-east-1'] })),
  service: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,64}$', examples: ['s3'] })),
})
export type AwsScope = Static<typeof AwsScope>

export const ProxyBody = Strict({
  grant_id: Text({ maxLength: 100 }),
  method: Type.String({ minLength: 1, maxLength: 20 }),
  url: Type.String({ minLength: 1, maxLength: 8192, description: 'An https URL that the grant covers' }),
  headers: Type.Optional(Dictionary(Type.String(), { maxProperties: 100 })),
  body: Type.Optional(
    Type.Unknown({
      description:
        'A string is sent unchanged, anything else as JSON; an object as a form if content-type is application/x-www-form-urlencoded. ' +
        'Without a content-type a string that is a JSON object or array is sent as application/json, any other as text/plain;charset=UTF-8.',
    }),
  ),
  body_base64: Type.Optional(Type.String({ description: 'The body as base64-encoded bytes, instead of body' })),
  content_length: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `With ${streamedCallType} and Transfer-Encoding: chunked, the length of the body in bytes`,
    }),
  ),
  timeout_ms: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 300_000,
      description: 'Timeout of the whole call, from the end of a streamed body. Default: 60000',
    }),
  ),
  follow_redirects: Type.Optional(Type.Boolean({ description: 'Follow up to 5 redirects that the grant covers' })),
  stream: Type.Optional(
    Type.Boolean({
      description:
        "Returns the upstream's own status, headers and body as they arrive, marked `x-sallyport-upstream: 1`; an error of the service is marked `x-sallyport-error: 1`. A relative `location` is made absolute. `x-request-id` and headers that concern this service's origin (`strict-transport-security`, `alt-svc`, `content-security-policy`) are sent as `x-sallyport-<name>`; for a browser (`Origin`, `Sec-Fetch-Site`, `Cookie`), or with `x-sallyport-header-names: prefixed`, also `link`, `location`, `refresh`, `www-authenticate` and any other header that a browser acts on. With `x-sallyport-redirects: as-200` a redirect comes as 200 with its status in `x-sallyport-status`. `set-cookie` is never sent.",
    }),
  ),
  aws: Type.Optional(AwsScope),
  reason: Type.Optional(
    Prose({
      maxLength: 500,
      description: 'If the call waits for a person: shown to them as your own words. Never sent to the API',
    }),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Only check whether the call would be allowed' })),
})
export type ProxyBody = Static<typeof ProxyBody>

/** The upstream's response, redacted. */
export const ProxyReply = Type.Object({
  status: Type.Integer({ description: "The upstream's status" }),
  headers: Dictionary(Type.Union([Type.String(), Type.Array(Type.String())])),
  body: Type.Unknown(),
  body_encoding: Type.Enum(['json', 'text', 'base64'], {
    description:
      '`json`: `body` is parsed JSON. `text`: a string. `base64`: bytes that are not text, or text over 4 KiB with so many ' +
      'control characters that it would more than double in size as JSON.',
  }),
  redactions: Type.Integer({ description: 'How many times a credential was redacted from the response' }),
  dropped_headers: Type.Array(Type.String(), {
    description:
      'Request headers that were not forwarded, such as authorization, cookie, accept-encoding and, unless the provider allows it, range. ' +
      'With "stream": true they are named in the header x-sallyport-dropped-headers instead.',
  }),
  audit_id: RecordId('aud'),
})
export type ProxyReply = Static<typeof ProxyReply>

/** The result of a dry run: no call was made, counted or recorded. */
export const DryRunReply = Type.Object({
  allowed: Type.Boolean({ description: 'Also if it would wait for a person first' }),
  asks: Type.Boolean({ description: 'Whether it would wait for a person' }),
  access: Nullable(Type.Enum(accessClasses, { description: 'null: it was refused before that was known' })),
  term: Nullable(
    Type.String({
      description:
        'The term of the grant that decides: `mode`, `max_access`, or `exceptions.0` for the first exception',
    }),
  ),
  reason: Type.Optional(Type.String({ description: 'The error code that the call would be refused with' })),
  would_inject: Nullable(
    Type.Object(
      {
        header: Type.Optional(Type.String({ description: 'The name of the header' })),
        query: Type.Optional(Type.String({ description: 'The name of the query parameter' })),
        path: Type.Optional(Type.String({ description: 'The path up to and with the segment' })),
        value: Type.String({ description: 'With the credential redacted' }),
      },
      { description: 'Where the credential goes. null: nothing is added to this call' },
    ),
  ),
  dropped_headers: Type.Array(Type.String(), { description: 'Request headers that would not be forwarded' }),
  grant: Nullable(
    Type.Object({
      grant_id: RecordId('grt'),
      status: Type.Enum(grantStatuses),
      allowed_hosts: Type.Array(Type.String()),
      allowed_methods: Nullable(Type.Array(Type.String())),
      allowed_paths: Nullable(Type.Array(Type.String())),
      max_calls: Nullable(Type.Integer()),
      calls: Type.Integer(),
      expires_at: Nullable(Timestamp),
      mode: GrantMode,
      exceptions: Exceptions,
      max_access: Nullable(MaxAccess),
    }),
  ),
})
export type DryRunReply = Static<typeof DryRunReply>
