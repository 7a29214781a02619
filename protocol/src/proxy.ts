import { Type, type Static } from 'typebox'
import { grantStatuses } from './grants.ts'
import { Dictionary, Nullable, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const ProxyBody = Strict({
  grant_id: Text({ maxLength: 100 }),
  method: Type.String({ minLength: 1, maxLength: 20 }),
  url: Type.String({ minLength: 1, maxLength: 8192, description: 'An https URL that the grant covers' }),
  headers: Type.Optional(Dictionary(Type.String(), { maxProperties: 100 })),
  body: Type.Optional(
    Type.Unknown({
      description:
        'A string is sent unchanged, anything else as JSON; an object as a form where content-type says application/x-www-form-urlencoded. ' +
        'Without a content-type a string that is a JSON object or array is sent as application/json, any other as text/plain;charset=UTF-8.',
    }),
  ),
  body_base64: Type.Optional(Type.String({ description: 'The bytes of the body instead, in base64' })),
  timeout_ms: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 300_000, description: 'How long the whole call may take; 60000 if not given' }),
  ),
  follow_redirects: Type.Optional(
    Type.Boolean({ description: 'Follows up to 5 redirects, as far as the grant covers them' }),
  ),
  stream: Type.Optional(
    Type.Boolean({
      description:
        "Answers with the upstream's own status, headers and body as they come, marked `x-sallyport-upstream: 1`; an error of the service is marked `x-sallyport-error: 1`. A relative `location` is made absolute. `x-request-id` and what concerns our own origin (`strict-transport-security`, `alt-svc`, `content-security-policy`) come as `x-sallyport-<name>`; for a browser (`Origin`, `Sec-Fetch-Site`, `Cookie`), or with `x-sallyport-header-names: prefixed`, also `link`, `location`, `refresh`, `www-authenticate` and whatever else a browser acts on. `set-cookie` never comes.",
    }),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Says whether the call would be made, and makes none' })),
})
export type ProxyBody = Static<typeof ProxyBody>

/** The answer of a call that was made: the upstream's, redacted. */
export const ProxyReply = Type.Object({
  status: Type.Integer({ description: "The upstream's status" }),
  headers: Dictionary(Type.Union([Type.String(), Type.Array(Type.String())])),
  body: Type.Unknown(),
  body_encoding: Type.Enum(['json', 'text', 'base64'], {
    description:
      '`json`: `body` is the JSON that came. `text`: a string. `base64`: bytes that are no text, or text over 4 KiB so full of ' +
      'control characters that it would more than double as JSON.',
  }),
  redactions: Type.Integer({ description: 'How often a credential was taken out of the answer' }),
  dropped_headers: Type.Array(Type.String(), {
    description:
      "The call's headers that were not sent on, such as authorization, cookie, accept-encoding and, unless the provider allows it, range. " +
      'With "stream": true they are named in the header x-sallyport-dropped-headers instead.',
  }),
  audit_id: RecordId('aud'),
})
export type ProxyReply = Static<typeof ProxyReply>

/** The answer to a dry run: no call was made, counted or put on record. */
export const DryRunReply = Type.Object({
  allowed: Type.Boolean(),
  reason: Type.Optional(Type.String({ description: 'The code that the call would be refused with' })),
  would_inject: Nullable(
    Type.Object({ header: Type.String(), value: Type.String({ description: 'With the credential taken out' }) }),
  ),
  dropped_headers: Type.Array(Type.String(), { description: "The call's headers that would not be sent on" }),
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
    }),
  ),
})
export type DryRunReply = Static<typeof DryRunReply>
