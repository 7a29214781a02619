import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { errorCodes } from './errors.ts'
import type { ErrorCode } from './errors.ts'

/** An object that refuses members it does not know: a misspelt member must not pass unseen. */
export function Strict<P extends TProperties>(properties: P, options: { description?: string } = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

interface TextOptions {
  minLength?: number
  maxLength: number
  description?: string
}

/** Text as people write it: no NUL and no half of a surrogate pair, which no database keeps faithfully. */
export function Text(options: TextOptions) {
  return Type.String({ pattern: '^[^\\u0000\\ud800-\\udfff]*$', ...options })
}

/** Letters, digits, punctuation and symbols, but for the few that are blank. */
const visible = '(?![\\u115f\\u1160\\u2800\\u3164\\uffa0])[\\p{L}\\p{N}\\p{P}\\p{S}]'
const misleading = '\\p{Cc}\\ud800-\\udfff\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069'

/** A name that is shown to people: besides, no control characters, none that reorder what is read, and not blank. */
export function DisplayName(options: TextOptions) {
  return Type.String({ pattern: `^(?=.*${visible})[^${misleading}]*$`, ...options })
}

/** What somebody says in their own words: lines and tabs, but nothing else that would change how it is read. */
export function Prose(options: TextOptions) {
  return Type.String({ pattern: `^(?:[^${misleading}]|[\\t\\n\\r])*$`, ...options })
}

const misleadingCharacters = new RegExp(`[${misleading}]`, 'gu')
const showsSomething = new RegExp(visible, 'u')

/** What another system calls somebody, as a display name: undefined where it shows nothing. */
export function toDisplayName(text: string, maxLength: number): string | undefined {
  const name = text.slice(0, maxLength).replaceAll(misleadingCharacters, '').trim()
  return showsSomething.test(name) ? name : undefined
}

export const Timestamp = Type.String({ format: 'date-time', description: 'RFC 3339 in UTC with milliseconds' })

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()])
}

/** A record's id: its prefix, then 26 base32 characters of a UUIDv7. */
export function RecordId(prefix: string) {
  return Type.String({
    pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`,
    examples: [`${prefix}_01k9x3v7qmf5v8t2w4y6z8abcd`],
  })
}

/** The id of a record in a path. Text that is no id names nothing, and is answered with `not_found`. */
export const IdInPath = Strict({ id: Text({ maxLength: 100 }) })

/** An object with members of any name. (A record's pattern would pass over names with a line break in them.) */
export function Dictionary<T extends TSchema>(
  member: T,
  options: { maxProperties?: number; description?: string } = {},
) {
  return Type.Unsafe<Record<string, Static<T>>>(Type.Object({}, { additionalProperties: member, ...options }))
}

export const RedirectAfter = Type.Optional(
  Text({ maxLength: 1000, description: 'A path on this origin that the browser is sent to at the end' }),
)

/** What an authorization server sends back. None of it is refused by its form, because a person waits for a page. */
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
    request_id: Type.String(),
  }),
})
export type ErrorBody = Static<typeof ErrorBody>
