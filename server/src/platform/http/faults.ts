/** Messages for validation errors: the validator's own quote regular expressions or are no sentences. */
type Params = Record<string, unknown>

const kinds: Record<string, string> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

/** By schema keyword. Without an entry, the validator's message is used. */
const faults: Partial<Record<string, (params: Params) => string | undefined>> = {
  // From `additionalProperties: false`.
  boolean: () => 'is not a known member of this request',
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  format: ({ format }) => (format === 'date-time' ? 'must be a time such as 2027-01-31T12:00:00Z' : undefined),
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  minItems: notEmpty,
  minLength: notEmpty,
  pattern: ({ examples }) =>
    Array.isArray(examples)
      ? `does not have the expected format, such as ${examples.join(' or ')}`
      : 'is blank, or contains a control character or another character that is not allowed',
  type: ({ type }) => {
    const wanted = [type].flat().map((one) => kinds[String(one)])
    return wanted.includes(undefined) ? undefined : `must be ${wanted.join(' or ')}`
  },
}

export function faultIn(keyword: string, params: Params): string | undefined {
  return faults[keyword]?.(params)
}

function notEmpty({ limit }: Params): string | undefined {
  return limit === 1 ? 'must not be empty' : undefined
}
