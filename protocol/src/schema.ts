import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { errorCodes } from './errors.ts'
import type { ErrorCode } from './errors.ts'

/** An object that refuses unknown members, so that misspelled ones are noticed. */
export function Strict<P extends TProperties>(properties: P, options: { description?: string } = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

interface TextOptions {
  minLength?: number
  maxLength: number
  description?: string
}

/** Text without NUL and lone surrogates, which not every database can store. */
export function Text(options: TextOptions) {
  return Type.String({ pattern: '^[^\\u0000\\ud800-\\udfff]*$', ...options })
}

/** Letters, digits, punctuation and symbols, except the few that look blank. */
const visible = '(?![\\u115f\\u1160\\u2800\\u3164\\uffa0])[\\p{L}\\p{N}\\p{P}\\p{S}]'
const misleading = '\\p{Cc}\\ud800-\\udfff\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069'

/** A name shown to people: also without control and bidirectional characters, and not blank. */
export function DisplayName(options: TextOptions) {
  return Type.String({ pattern: `^(?=.*${visible})[^${misleading}]*$`, ...options })
}

/** Free text of a person: line breaks and tabs, but no other control or bidirectional characters. */
export function Prose(options: TextOptions) {
  return Type.String({ pattern: `^(?:[^${misleading}]|[\\t\\n\\r])*$`, ...options })
}

const misleadingCharacters = new RegExp(`[${misleading}]`, 'gu')
const showsSomething = new RegExp(visible, 'u')

/** Turns a name from another system into a display name. Undefined if nothing visible is left. */
export function toDisplayName(text: string, maxLength: number): string | undefined {
  const name = text.slice(0, maxLength).replaceAll(misleadingCharacters, '').trim()
  return showsSomething.test(name) ? name : undefined
}

export const Timestamp = Type.String({ format: 'date-time', description: 'RFC 3339 in UTC with milliseconds' })

export function Nullable<T extends TSchema>(schema: T, options: { description?: string } = {}) {
  return Type.Union([schema, Type.Null()], options)
}

/** A record's id: its prefix, then 26 base32 characters of a UUIDv7. */
export function RecordId(prefix: string) {
  return Type.String({
    pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`,
    examples: [`${prefix}_01k9x3v7qmf5v8t2w4y6z8abcd`],
  })
}

/** The id of a record in a path. Malformed ids are answered with `not_found`. */
export const IdInPath = Strict({ id: Text({ maxLength: 100 }) })

/** An object with members of any name. (The pattern of Type.Record would skip names with line breaks.) */
export function Dictionary<T extends TSchema>(
  member: T,
  options: { maxProperties?: number; description?: string } = {},
) {
  return Type.Unsafe<Record<string, Static<T>>>(Type.Object({}, { additionalProperties: member, ...options }))
}

export const RedirectAfter = Type.Optional(
  Text({ maxLength: 1000, description: 'A path on this origin that the browser is sent to at the end' }),
)

/**
 * The parameters of an authorization response. Accepts any values, so that the user gets a page and not a JSON error.
 */
export const CallbackQuery = Type.Object({
  code: Type.Optional(Type.Unknown()),
  state: Type.Optional(Type.Unknown()),
  iss: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
})

export const NoBody = Type.Optional(Strict({}))

export const ErrorBody = Type.Object({
  error: Type.Object({
    code: Type.Unsafe<ErrorCode>(Type.Union(errorCodes.map((code) => Type.Literal(code)))),
    message: Type.String({ description: 'What went wrong and what to do' }),
    retryable: Type.Boolean({ description: 'Whether the same call may succeed later' }),
    field: Type.Optional(Type.String({ description: 'The member at fault' })),
    access_request: Type.Optional(
      Type.Object(
        { provider: Type.String(), hosts: Type.Array(Type.String()), methods: Type.Array(Type.String()) },
        { description: 'For a refused proxy call: what to post to /v4/access-requests to request this access' },
      ),
    ),
    upstream_status: Type.Optional(
      Type.Integer({ description: 'For a refused credential: the status that the provider answered with' }),
    ),
    request_id: Type.String(),
  }),
})
export type ErrorBody = Static<typeof ErrorBody>
