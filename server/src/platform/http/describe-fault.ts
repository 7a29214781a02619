/** What is wrong with a member, in words: the validator's own messages quote regular expressions or its schema. */
import type { FastifySchemaValidationError } from 'fastify'

type Params = Record<string, unknown>

/** The first fault, as the end of a sentence that begins with the member's name. */
export function describeFault(found: readonly FastifySchemaValidationError[]): string {
  const [first] = found
  if (!first) return unknownFault
  // Of several alternatives, each has a fault of its own.
  const alike = found.filter(({ keyword, instancePath: at }) => keyword === first.keyword && at === first.instancePath)
  const params = alike.map((one) => one.params as Params)
  return faults[first.keyword]?.(params[0] ?? {}, params) ?? unknownFault
}

const unknownFault = 'does not have the expected form; /openapi.json describes it'

const kinds: Record<string, string> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

const formats: Record<string, string> = {
  'date-time': 'must be a time such as 2027-01-31T12:00:00Z',
  email: 'must be an email address such as ada@example.com',
}

/** By schema keyword. `all`: those of the alternatives. */
const faults: Partial<Record<string, (params: Params, all: Params[]) => string | undefined>> = {
  // From `additionalProperties: false`.
  boolean: () => 'is not a known member of this request',
  const: (_first, all) => `must be ${all.map(({ allowedValue }) => String(allowedValue)).join(' or ')}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  format: ({ format }) => formats[String(format)],
  maxItems: ({ limit }) => `must have at most ${count(limit, 'entry', 'entries')}`,
  maxLength: ({ limit }) => `must have at most ${count(limit, 'character')}`,
  maxProperties: ({ limit }) => `must have at most ${count(limit, 'member')}`,
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
  minItems: ({ limit }) => notEmpty(limit) ?? `must have at least ${count(limit, 'entry', 'entries')}`,
  minLength: ({ limit }) => notEmpty(limit) ?? `must have at least ${count(limit, 'character')}`,
  minProperties: ({ limit }) => notEmpty(limit) ?? `must have at least ${count(limit, 'member')}`,
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  pattern: ({ examples }) =>
    Array.isArray(examples)
      ? `does not have the expected format, such as ${examples.join(' or ')}`
      : 'is blank, or contains a control character or another character that is not allowed',
  type: (_first, all) => {
    const wanted = all.flatMap(({ type }) => [type].flat()).map((one) => kinds[String(one)])
    return wanted.includes(undefined) ? undefined : `must be ${[...new Set(wanted)].join(' or ')}`
  },
  uniqueItems: () => 'must not have the same entry twice',
}

function notEmpty(limit: unknown): string | undefined {
  return limit === 1 ? 'must not be empty' : undefined
}

function count(limit: unknown, one: string, many = `${one}s`): string {
  return `${Number(limit).toLocaleString('en')} ${limit === 1 ? one : many}`
}
